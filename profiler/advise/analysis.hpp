// Owns one recording with all that is found in it: names, findings, costs and advice. A report, the comparison of two
// recordings, the gate and an export are views of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profiler/advise/advice.hpp"
#include "profiler/findings/heap/escapes.hpp"
#include "profiler/findings/heap/findings.hpp"
#include "profiler/findings/heap/history.hpp"
#include "profiler/findings/heap/memory.hpp"
#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/findings/quiet_regions.hpp"
#include "profiler/findings/time/cpu.hpp"
#include "profiler/findings/time/lanes.hpp"
#include "profiler/findings/time/time.hpp"
#include "profiler/findings/waits/lasting_waits.hpp"
#include "profiler/findings/waits/lock_order.hpp"
#include "profiler/findings/waits/locks.hpp"
#include "profiler/findings/waits/stacks.hpp"
#include "profiler/findings/waits/system_calls.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/predict/cost_model.hpp"
#include "profiler/predict/predict.hpp"
#include "profiler/predict/trace.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// One remedy of a site, with its predicted effect and the code to write.
struct offer {
  prediction predicted;
  advice suggestion;
};

// A caller of the deciding function, and the number of the site's allocations that it causes.
struct caller {
  code_location location;
  std::uint64_t blocks = 0;
};

struct site_view {
  site facts;
  std::vector<code_location> stack;  // the result of stack_of
  std::size_t frame_index = 0;       // index of the function to change in `stack`
  std::vector<caller> callers;       // if the site combines several stacks: the most allocations first; else empty
  allocation_info allocation;
  analyse::growth grown;  // of the buffers that the site grows, if it does
  site_prediction predicted;
  std::vector<offer> offers;  // the first choice in front; empty if there is nothing to gain
  // The middle of an offer's range saves 0.1 % of the CPU time, or that time is unknown. If the offer also saves
  // costs that no recording shows, the high end of its range decides.
  bool is_worth_it = false;
  std::string remedy;           // one line; empty if there is nothing to gain
  std::string unjudged_remedy;  // which remedy the samples are too few for; empty if there is none
  double growth = 0;  // bytes per second, if its memory grows to the end of the run; computed only for sums_by_location

  // Returns null for the site that stands for all beyond the recorder's limit.
  const code_location* location() const { return frame_index < stack.size() ? &stack[frame_index] : nullptr; }
};

// The sum over all sites of the heap, also those that a report does not show. A remedy counts by the middle of its
// range, as in the verdict: by the low end, a range that begins near 0 would count in one report and not in the next.
struct first_remedies {
  range saved_ns;               // by the first remedy of each site
  std::size_t count = 0;        // sites with a predicted remedy that is worth it
  bool is_at_least = false;     // some of these remedies also save work that no recording shows
  std::size_t unpredicted = 0;  // sites whose remedy has no prediction
};

struct analysis_options {
  std::string bytes = {};                    // the content of the recording's file; empty: history() is empty
  double measured_cpu_ns = 0;                // see predictor
  const format::recording* whole = nullptr;  // see find(); used only in the constructor
  std::vector<std::string> wrappers = {};    // see deciding_frames
  std::vector<std::string> deciding = {};    // functions that are no wrappers, whatever their names say
  bool separates_stacks = false;             // sites() are those of heap()
};

// Computes the sites of the heap at once, and everything else when it is first asked for. Keeps all but the results of
// view() and course(), and memory() only until replay() or set_costs(). Only one thread at a time may use an object.
class analysis {
 public:
  explicit analysis(format::recording recording, cost_model costs = {}, analysis_options options = {});
  analysis(const analysis&) = delete;
  analysis& operator=(const analysis&) = delete;

  const format::recording& recording() const { return recording_; }
  const heap_findings& heap() const { return heap_; }  // the most expensive site first; each is one call stack
  // Returns the sites of heap(), with those of one deciding function and category combined (`group_sites`); the most
  // expensive first.
  const std::vector<site>& grouped_sites();
  // Returns the sites that a report shows: those of grouped_sites(), or of heap() if stacks are separate. From then on
  // whole().heap_ns is the sum of their costs.
  const std::vector<site>& sites();
  const lock_findings& locks();
  const lasting_findings& lasting_waits() { return find_once(lasting_waits_, find_lasting_waits); }
  const order_findings& orders() { return find_once(orders_, find_orders); }
  const call_findings& calls();
  const std::vector<quiet_view>& quiet_regions() { return find_once(quiet_regions_, find_quiet_regions); }
  const memory_findings& memory();  // of grouped_sites()
  const cpu_findings& cpu();
  const time_findings& time();
  const lane_findings& lanes();
  // Reads the whole content of the file each time. The history is empty if that content is not known.
  history course(std::size_t limit) const;
  const program_costs& whole() const { return whole_; }
  const cost_model& costs() const { return costs_; }
  // Judges the sites anew by other prices. Call it before replay(). References to sites and memory() end.
  void set_costs(cost_model costs);

  // Repeats the excerpts of the first `limit` of `sites`, if that predicts more than the cost model, and whole excerpts
  // for the drop-in. Views of these sites, and whole(), then contain the results.
  using replayer = std::function<std::vector<replayed>(const std::vector<replay_job>&)>;
  void replay(const std::vector<site>& sites, std::size_t limit, const replayer& replay_all);

  // Looks at the sites that cost at least 0.1 % of the CPU time, at most 200 of them.
  first_remedies all_first_remedies();
  // Returns whether the drop-in saves 0.1 % of the CPU time, or any if that time is unknown.
  bool drop_in_is_worth_it() const;

  // Resolves the names of the site, which costs some milliseconds if there is debug information.
  site_view view(const site& site);
  // Returns only the stack of the site, as in its view.
  std::vector<code_location> stack(const site& site) { return stack_of(frames_of(recording_, site, symbols_)); }
  // Returns the stack of any site of the recording (`stack_at`).
  std::vector<code_location> stack(std::uint32_t site) { return stack_at(recording_, site, symbols_); }
  symbols& names() { return symbols_; }
  // Returns the present cost of the site, corrected by its replay.
  range now_ns_of(const site& site) const;
  // Returns a range of nanoseconds as a share of the CPU time, at most 1. The shares of sites() add up to that of
  // the heap.
  range share(const range& ns) const;
  // Returns the share of nanoseconds of another recording, which may be more than all of the CPU time here.
  range ratio(const range& ns) const;
  // Returns false if the end of the process was not seen: then share() is 0.
  bool knows_cpu_time() const { return whole_.cpu_ns.high > 0; }

 private:
  template <class Findings>
  const Findings& find_once(std::optional<Findings>& findings, Findings find_in(const format::recording&)) {
    if (!findings) findings = find_in(recording_);
    return *findings;
  }
  range sort_by_cost(std::vector<site>& sites) const;  // returns the sum of the costs
  void sort_sites();
  void mark_growth(std::vector<site>& sites);
  // Returns whether excerpts can predict the drop-in's saving. They are those of single threads, so that blocks that
  // another thread frees are left to the cost model.
  bool is_replayed_whole(const site& site) const {
    return site.category != heap_category::cross_thread && !predictor_.is_on_drop_in(site);
  }
  // Adds a job for each image that has enough excerpts, and returns these images.
  std::vector<std::uint32_t> add_whole_jobs(std::vector<replay_job>& jobs) const;
  void correct_drop_in(const std::vector<std::uint32_t>& images, std::span<const replayed> results);
  const deciding_frames& find_deciding_frames();
  std::vector<caller> callers_of(const site& site);
  // Returns how many of the site's functions, inlined ones included, only allocate for their callers.
  std::size_t skipped_frames(const site& site);
  // Returns the keys of the containers of which a buffer outlives the function that grows them. Needs `escapes_`.
  const std::set<std::string>& escaping_containers();
  // Returns the keys of the containers that grow.
  const std::set<std::string>& growing_containers();

  format::recording recording_;
  std::string bytes_;
  std::vector<std::string> wrappers_;
  cost_model costs_;
  double measured_cpu_ns_;
  bool separates_stacks_ = false, has_marked_stacks_ = false;
  heap_findings heap_;
  symbols symbols_;
  std::vector<std::uint64_t> blocks_;  // number of blocks of each site of the recording
  std::optional<deciding_frames> deciding_frames_;
  std::optional<escapes> escapes_;
  std::optional<std::set<std::string>> escaping_containers_, growing_containers_;
  std::optional<std::vector<site>> grouped_sites_;
  std::optional<memory_findings> memory_;
  std::optional<cpu_findings> cpu_;
  std::optional<time_findings> time_;
  std::optional<lane_findings> lanes_;
  std::optional<lock_findings> locks_;
  std::optional<lasting_findings> lasting_waits_;
  std::optional<order_findings> orders_;
  std::optional<call_findings> calls_;
  std::optional<std::vector<quiet_view>> quiet_regions_;
  predictor predictor_;
  program_costs whole_;
  struct combined_replay {
    replayed result;
    growth buffers;  // the growth of all sites that change together
  };
  std::map<std::pair<std::uint32_t, std::size_t>, combined_replay>
      replayed_;  // by site number and number of other sites
};

}  // namespace tarn::analyse
