// What the remedy for a system-call site saves: calls that are not made, at what they take here without the recorder.
#pragma once

#include <string>

#include "analyse/costs.hpp"
#include "analyse/syscalls.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

struct call_saving {
  range ns;                   // of processor time, over the whole run; empty where it is not predicted
  bool at_least = false;      // the remedy also spares other calls (what follows an open that is not made)
  std::string not_predicted;  // why not; empty where it is
};

// Of a site that has a remedy.
call_saving saving_of(const call_site& of, const format::recording& in, const costs& prices);

}  // namespace tarn::analyse
