// Predicts the cost of a site, now and with each remedy.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/findings/heap/findings.hpp"
#include "profiler/predict/cost_model.hpp"
#include "profiler/predict/remedies.hpp"
#include "profiler/predict/trace.hpp"

namespace tarn::analyse {

struct prediction {
  remedy_kind remedy = remedy_kind::drop_in;
  range ns;                       // predicted cost of the site with the remedy
  range saved_ns;                 // below 0 if it may cost more
  std::uint64_t calls_saved = 0;  // allocations that would not happen
  bool saves_more = false;        // the remedy also saves unmodelled work, so that it may save more than `high`
  range memory_ns = {};           // of the pages that it adds; `saved_ns` is less by it
};

struct site_prediction {
  range now_ns;
  std::vector<prediction> remedies;  // remedies that fit the site, the first choice in front; empty if none fits
  std::vector<std::string> reasons;  // why the ranges are wide
};

// The allocations of one site, or of several sites that grow the same buffers step by step instead of reserving
// memory.
struct growth {
  std::uint64_t steps = 0;    // allocations that a reserve would save; 0: nothing grows
  std::uint64_t buffers = 0;  // number of growing buffers
  std::uint64_t bytes = 0;    // bytes to reserve; 0: no fixed number pays
  std::uint64_t blocks = 0;   // all allocations, including the steps
  bool is_counted = false;    // `steps` and `buffers` are counts; else they follow from the sizes, as far as these tell
  using by_size = std::array<double, format::size_bucket_count>;
  by_size ends{};            // the buffers by the size in which they end
  by_size saved_shares{};    // the share of the blocks of a size that a reserve saves; below 0 if there are more
  double fitting_share = 1;  // of the buffers, those for which `bytes` are enough
  double spare_bytes = 0;    // of `bytes`, what an average buffer does not use
  double spare_pages = 0;    // the pages of these that it touches nevertheless
};
// Returns the growth with enough bytes for nine of ten buffers. predictor::growth_of chooses them by their price.
growth growth_of(const site& site);

// Returns how many further allocations it takes until samples tell whether the site's buffers grow; 0 if they tell it,
// or nothing shows that they may.
std::uint64_t blocks_until_growth_is_known(const site& site);

// Replaces the predictions of the cost model by the results of repeating the excerpts. `misprediction_rate` is the
// share of calls that follow a mispredicted branch; empty if it is not known.
void correct(site_prediction& result, const site& site, const replayed& replayed,
             std::optional<double> misprediction_rate);
// Returns the cost of `blocks` calls as a replay measured it. `error` is the share by which the number of blocks may be
// wrong.
range cost_of(const call_ns& call, double blocks, double error, std::optional<double> misprediction_rate);
// Returns whether a replay tells a cost at all. It subtracts two times, and their noise may be more than the
// difference.
bool is_above_noise(const call_ns& cost, std::optional<double> misprediction_rate);
// Returns that share for the whole program: the processor's count of branch mispredictions divided by all allocations
// and frees.
std::optional<double> misprediction_rate_of(const format::recording& recording);

struct program_costs {
  range cpu_ns;               // CPU time of the program without its recorder; 0: unknown
  bool is_too_short = false;  // the recorder may have taken all of the CPU time
  range recorder_ns;          // CPU time of the recorder, as far as it is known
  double wall_ns = 0;         // duration of the recorded run
  range heap_ns;              // current cost of all sites
  range drop_in_saves_ns;
  double spent_ns = 0;  // CPU time of the program with its recorder
  range remaining_ns;   // the same without the recorder, where `cpu_ns` is computed from it; it may be below 0

  // Sets the cost of all sites, and the CPU time that agrees with it.
  void set_heap(const range& ns);
};

class predictor {
 public:
  predictor(const format::recording& recording, const cost_model& costs);

  site_prediction predict(const site& site) const { return predict(site, growth_of(site)); }
  // Returns the growth with the bytes to reserve that save most, at most enough for nine of ten buffers. Short buffers
  // pay for them: by the price of a larger allocation, and by the pages that they touch.
  growth growth_of(const site& site) const;
  // `grown` describes the buffers that this site grows, possibly together with other sites.
  site_prediction predict(const site& site, const growth& grown) const;
  // `measured_cpu_ns` is the CPU time of the program without a recorder; 0: unknown.
  program_costs program_costs_of(const heap_findings& findings, double measured_cpu_ns = 0) const;

  bool is_on_drop_in(const site& site) const { return allocator_of(site) == allocator_kind::drop_in; }

 private:
  allocator_kind allocator_of(const site& site) const;
  prediction predict_reserve(const site& site, const growth& grown) const;
  site_prediction predict_exactly(const site& site, const growth& grown) const;  // as if its counts were exact

  const format::recording& recording_;
  const cost_model& costs_;
  std::vector<bool> is_threaded_, is_on_drop_in_;  // by image
};

}  // namespace tarn::analyse
