// The two recordings of `tarn diff`, and what makes them hard to compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/advise/difference.hpp"
#include "profiler/findings/heap/own_heap.hpp"
#include "profiler/findings/uses.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/values.hpp"
#include "profiler/report/views.hpp"

namespace tarn::command {

// One of the two recordings.
struct side {
  side(const std::string& path, const analyse::cost_model& costs, double cpu_seconds)
      : analysis(read_recording(path), costs, {.bytes = {}, .measured_cpu_ns = cpu_seconds * 1e9, .wrappers = {}}),
        sums(sums_by_location(analysis).locations),
        locks(analyse::locks_in(analysis.recording(), analysis.locks(), analysis.names())),
        calls(analyse::calls_in(analysis.recording(), analysis.calls(), analysis.names())),
        samples(analyse::samples_in(analysis.cpu())),
        waits(analyse::waits_in(analysis.recording(), analysis.time(), analysis.names())) {}
  bool has_heap() const { return records_heap(analysis.recording()); }
  bool has_samples() const { return analysis.recording().cpu.interval_ns != 0; }
  std::uint64_t wall_ns() const { return analysis.recording().end.wall_us * 1000; }
  analyse::analysis analysis;
  std::vector<analyse::location_sums> sums;
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

// Formats "12.6 → 5.3 s", or "12.6 s → 80 ms".
std::string durations_text(std::uint64_t before, std::uint64_t after);

// Returns a line where the programs have different names and few functions in common; otherwise an empty text.
std::string warning_of(const side& before, const side& after, const analyse::difference& difference);

// Returns a line where the programs did different amounts of work, as most sites of the heap tell, or else a count or a
// time that is more than three times that of the other program; otherwise an empty text.
std::string load_warning_of(const side& before, const side& after, const analyse::difference& difference,
                            const std::vector<compared_uses>& kinds);

}  // namespace tarn::command
