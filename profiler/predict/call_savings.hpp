// Predicts the saving of the remedy for a system-call site: the calls that are no longer made, at their cost here
// without the recorder.
#pragma once

#include <string>

#include "profiler/findings/waits/system_calls.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/predict/cost_model.hpp"

namespace tarn::analyse {

struct call_saving {
  range ns;                   // CPU time over the whole run; empty if it is not predicted
  bool saves_more = false;    // the remedy also saves other calls, such as those that follow an open that is not made
  std::string not_predicted;  // the reason; empty if it is predicted
};

// `site` must have a remedy.
call_saving saving_of(const call_site& site, const format::recording& recording, const cost_model& costs);

}  // namespace tarn::analyse
