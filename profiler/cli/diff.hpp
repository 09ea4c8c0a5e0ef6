// The parts of `tarn diff`: both recordings, what is compared of them, and how it is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/advise/analysis.hpp"
#include "profiler/advise/difference.hpp"
#include "profiler/findings/uses.hpp"

namespace tarn::command::comparison {

using analyse::change;
using analyse::location_sums;
using analyse::range;

struct diff_request {
  std::string before, after;
  std::vector<double> cpu_seconds;  // CPU time of both programs without a recorder; empty: not known
  bool as_json = false;
  std::string page;  // file to write the HTML report to; empty: none
  bool hides_names = false;
  std::size_t top = 10;
};

// One of the two recordings.
struct side {
  // `cpu_seconds` is the CPU time without a recorder; 0: not known.
  side(const std::string& path, const analyse::cost_model& costs, double cpu_seconds);
  bool has_heap() const;
  bool has_samples() const { return analysis.recording().cpu.interval_ns != 0; }
  std::uint64_t wall_ns() const { return analysis.recording().end.wall_us * 1000; }
  bool has_locks() const { return analysis.recording().program.has_source("locks"); }
  analyse::analysis analysis;
  std::vector<location_sums> sums;
  std::vector<analyse::use> locks, calls, samples, waits;
};

// The uses of one kind in both programs.
struct compared_uses {
  const char *title, *member;  // of the text, of the JSON
  const char *unit, *time;     // of counts, of durations; no unit if counts are not known
  bool is_in_before, is_in_after;
  analyse::use_difference uses;
  bool is_in_both() const { return is_in_before && is_in_after; }
};

// Compares what both programs did besides their work with the heap. A kind that only one of the two recordings has is
// not compared.
std::vector<compared_uses> compared(const side& before, const side& after);
// Returns whether the programs did other work, or took another time for the same. How long system calls and waits
// without a lock take is up to the machine and to those who send requests.
bool is_other_work(const compared_uses& kind);

constexpr const char* incomparable_cpu =
    "CPU time cannot be compared: recording changed how often threads waited for locks";
// Returns whether the CPU times of the two runs tell what the change saved.
bool is_cpu_comparable(const side& before, const side& after, const diff_request& request);
// Sums what the remedies of the sites that changed were predicted to save.
struct predicted_saving {
  range ns;
  bool saves_more = false;  // some also save work that no recording shows
  std::size_t sites = 0;
};

// Adds the remedies that were taken, and the first ones of sites that are gone.
predicted_saving predicted_of(const analyse::difference& difference);

// The memory of both programs, and the places where it changed.
struct memory_difference {
  memory_difference(side& before, side& after);
  const analyse::memory_findings &earlier, &later;
  std::vector<change> changes;
};

// All that is compared of two recordings. `before` and `after` must outlive it.
struct whole_comparison {
  const side &before, &after;
  analyse::difference difference;
  memory_difference memory;
  std::vector<compared_uses> kinds;
};

// Returns the saved CPU time: that of `cpu_seconds`, or of the two runs.
analyse::measured_saving saved_cpu(const whole_comparison& comparison, const diff_request& request);

// Returns what the reader of the comparison should know first: it may not be one of the same work on the same program.
std::vector<std::string> notes_on(const whole_comparison& comparison, const diff_request& request);

// Formats "12.6 → 5.3 s", or "12.6 s → 80 ms".
std::string durations_text(std::uint64_t before, std::uint64_t after);

void print_text(const whole_comparison& comparison, const diff_request& request);
void print_json(const whole_comparison& comparison, const diff_request& request);
// Writes an HTML report that has nothing but the difference in it.
void write_difference(const whole_comparison& comparison, const diff_request& request);

}  // namespace tarn::command::comparison
