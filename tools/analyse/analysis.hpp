// All that is made of one recording: findings, names, prices, advice. What the report, the difference of two recordings
// and the gate show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/advice.hpp"
#include "analyse/costs.hpp"
#include "analyse/findings.hpp"
#include "analyse/predict.hpp"
#include "analyse/symbols.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

// One remedy of a site, with what it gives and how it is written.
struct offer {
  prediction predicted;
  advice how;
};

struct site_view {
  site facts;
  std::vector<place> stack;  // stack_of
  std::size_t place_at = 0;  // in it: the function to change
  made_here made;
  site_prediction predicted;
  std::vector<offer> offers;  // the one to take first in front; empty where there is nothing to gain
  std::string remedy;         // in one line; empty likewise

  // Null for the site that stands for all beyond the recorder's limit.
  const place* where() const { return place_at < stack.size() ? &stack[place_at] : nullptr; }
};

class analysis {
 public:
  // `prices` must outlive it. `measured_cpu_ns`: see predictor.
  analysis(format::recording of, const costs& prices, double measured_cpu_ns = 0);
  analysis(const analysis&) = delete;
  analysis& operator=(const analysis&) = delete;

  const format::recording& recorded() const { return recording_; }
  const heap_findings& heap() const { return heap_; }  // the dearest site first
  const program_costs& whole() const { return whole_; }

  // Resolves the site's names: some milliseconds where there is debug information.
  site_view view(const site& of);
  // A range of ns as milliseconds for each second that the program ran; of its processor's time as a share.
  range ms_per_second(const range& ns) const;
  range share(const range& ns) const;
  // Not of a process whose end was not seen: then share() is 0.
  bool knows_processor_time() const { return whole_.cpu_ns.high > 0; }

 private:
  format::recording recording_;
  heap_findings heap_;
  symbols symbols_;
  predictor predictor_;
  program_costs whole_;
};

}  // namespace tarn::analyse
