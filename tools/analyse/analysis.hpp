// All that is made of one recording: findings, names, prices, advice. What the report, the difference of two recordings
// and the gate show.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/advice.hpp"
#include "analyse/costs.hpp"
#include "analyse/findings.hpp"
#include "analyse/predict.hpp"
#include "analyse/replay.hpp"
#include "analyse/symbols.hpp"
#include "analyse/wrappers.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

// One remedy of a site, with what it gives and how it is written.
struct offer {
  prediction predicted;
  advice how;
};

// Who calls the function that decides, and how many of the site's allocations that is.
struct caller {
  place at;
  std::uint64_t blocks = 0;
};

struct site_view {
  site facts;
  std::vector<place> stack;     // stack_of
  std::size_t place_at = 0;     // in it: the function to change
  std::vector<caller> callers;  // of a site that is several stacks: the most allocations first; else empty
  made_here made;
  site_prediction predicted;
  std::vector<offer> offers;  // the one to take first in front; empty where there is nothing to gain
  bool is_worth_it = false;   // one of them saves 0.1 % of the processor's time, where that is known
  std::string remedy;         // in one line; empty likewise

  // Null for the site that stands for all beyond the recorder's limit.
  const place* where() const { return place_at < stack.size() ? &stack[place_at] : nullptr; }
};

class analysis {
 public:
  // `prices` must outlive it. `measured_cpu_ns`: see predictor. `whole`: see find(); used here only.
  analysis(format::recording of, const costs& prices, double measured_cpu_ns = 0,
           const format::recording* whole = nullptr);
  analysis(const analysis&) = delete;
  analysis& operator=(const analysis&) = delete;

  const format::recording& recorded() const { return recording_; }
  const heap_findings& heap() const { return heap_; }  // the dearest site first; each a call stack of its own
  // The sites of heap(), those of one deciding function and category as one (`grouped`), the dearest first.
  const std::vector<site>& places() const { return places_; }
  const program_costs& whole() const { return whole_; }
  const costs& prices() const { return prices_; }

  // Repeats the excerpts of those of the first `most` of `sites` for which that tells more than prices; their views
  // have what it finds.
  using player = std::function<std::vector<replayed>(const std::vector<replay_job>&)>;
  void replay(const std::vector<site>& sites, std::size_t most, const player& by);

  // Resolves the site's names: some milliseconds where there is debug information.
  site_view view(const site& of);
  // Its stack alone, as there.
  std::vector<place> stack(const site& of) { return stack_of(frames_of(recording_, of, symbols_)); }
  // A range of ns as milliseconds for each second that the program ran; of its processor's time as a share.
  range ms_per_second(const range& ns) const;
  range share(const range& ns) const;
  // Not of a process whose end was not seen: then share() is 0.
  bool knows_processor_time() const { return whole_.cpu_ns.high > 0; }

 private:
  void sort_by_cost(std::vector<site>& sites) const;
  std::vector<caller> callers_of(const site& of);

  format::recording recording_;
  const costs& prices_;
  heap_findings heap_;
  symbols symbols_;
  std::vector<std::uint64_t> blocks_;  // of each site of the recording
  deciders deciders_;
  std::vector<site> places_;
  predictor predictor_;
  program_costs whole_;
  struct together {
    replayed by;
    growth grown;  // of all sites that are changed together
  };
  std::map<std::pair<std::uint32_t, std::size_t>, together> replayed_;  // by number, and how many others
};

}  // namespace tarn::analyse
