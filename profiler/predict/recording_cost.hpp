// Computes the cost of recording for the program, kind by kind: the amount of each item of work times its price.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <string>

#include "profiler/format/recording.hpp"
#include "profiler/predict/cost_model.hpp"

namespace tarn::analyse {

// `hooks` is what samples of the processor find in the recorder beyond the priced work, such as functions that only
// pass their calls on because their source is not recorded.
enum class work_kind : std::size_t { heap, locks, calls, threads, stacks, start, hooks, count };
constexpr std::size_t work_kind_count = static_cast<std::size_t>(work_kind::count);
const char* name(work_kind kind);

// Returns the amounts of the recorder's work while the recording was made. Estimated counts are as good here as exact
// ones.
std::array<std::uint64_t, format::work_item_count> amounts_of(const format::recording& recording);

// Below this, the start of the recorder may be more than the program's own work.
constexpr double shortest_ns = 50e6;

struct recording_cost {
  bool is_known = false;                     // false if the prices were not measured
  bool is_disturbed = false;                 // they were measured on a busy machine
  std::array<double, work_kind_count> ns{};  // CPU time in the program
  double collector_ns = 0;                   // CPU time of `tarn record` itself, beside the program

  double total_ns() const { return std::accumulate(ns.begin(), ns.end(), 0.0); }
  // Returns the range that is expected to contain the true cost.
  range total_range() const {
    const double error = is_disturbed ? 1 : prediction_error;
    return {total_ns() * (1 - error), total_ns() * (1 + error)};
  }
};
recording_cost cost_of(const format::recording& recording);

// Returns such as "recording took 0.12 s of the CPU time, 4.0 %: system calls 0.10, heap 0.02", the largest kind first,
// or that it is not known. "At least" stands before the time where threads waited for locks.
std::string cost_text_of(const format::recording& recording);
// Returns why shares of the CPU time may be wrong: the prices were measured on a busy machine, or recording took most
// of that time. Empty if nothing speaks for it.
std::string doubt_text_of(const format::recording& recording);
// Returns such as "tarn record itself took 0.01 s more".
std::string collector_text_of(const format::recording& recording);

}  // namespace tarn::analyse
