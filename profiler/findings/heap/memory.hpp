// Finds the sites that hold the program's memory at the peak and at the end, and those whose memory keeps growing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profiler/findings/heap/estimates.hpp"
#include "profiler/findings/heap/findings.hpp"
#include "profiler/findings/heap/history.hpp"

namespace tarn::analyse {

constexpr std::size_t min_trend_snapshots = 12;  // fewer do not tell a trend

enum class trend {
  unknown,  // too little is known: no history, or too few intervals
  steady,   // it does not rise beyond the error of its estimates
  fills,    // it rose, and has stopped or slows down, as a cache does
  grows,    // it rises to the end at no lower rate than before
};
const char* name(trend trend);

struct memory_site {
  const site* origin = nullptr;
  // The relative errors of its `peak_bytes` and `live_bytes`, not exceeded in 95 of 100 recordings; 0 if they are
  // exact.
  double peak_error = 0, live_error = 0;
  figure_range peak_range, live_range;  // these bytes, if they are exact
  trend course = trend::unknown;
  double bytes_per_second = 0;  // while it grew or grows: in the last third of the run
};

// The heap's part of a process's pages in memory.
struct heap_residence {
  std::uint64_t in_use = 0;     // as requested
  std::uint64_t rounding = 0;   // about how many bytes the allocator adds to these blocks; 0 if it is unknown
  std::uint64_t free = 0;       // in memory, and not in use
  std::uint64_t untouched = 0;  // in use, and not in memory: never touched, or swapped
};

// Sums the blocks of a site that no pointer reached when the program exited.
struct lost_memory {
  const site* origin = nullptr;
  format::leak_facts facts;
};

// A saving at the peak that the contents of a site's blocks tell.
enum class memory_remedy { shrink, share };  // reserve or shrink_to_fit; one block for equal contents
struct memory_saving {
  const site* origin = nullptr;
  memory_remedy remedy = memory_remedy::shrink;
  format::site_contents contents;
  std::uint64_t bytes = 0;  // of the peak
  figure_range range;
};

struct memory_findings {
  std::uint64_t peak_bytes = 0, peak_blocks = 0;  // 0 for a part of a recording
  std::uint64_t peak_ns = 0;                      // since the recording's start
  std::uint64_t end_bytes = 0, end_blocks = 0;
  figure_range peak_range, end_range;      // within the exact totals; both are of 0 bytes if they are unknown
  std::optional<std::uint64_t> max_bytes;  // all that was allocated, where it is known: a limit of the bytes in use
  // The most memory that the process had, and a limit that it did not exceed. They differ if the recording is of a part
  // of its life: the first is then what a snapshot saw.
  std::uint64_t resident_bytes = 0, max_resident_bytes = 0;
  bool has_trends = false;             // there are enough intervals to judge the course of a site
  std::optional<double> rounding;      // by the allocator, of each byte in use at the end, about; none if it is unknown
  std::vector<lost_memory> lost;       // the most bytes first; also empty if lost blocks were not searched for
  std::vector<memory_saving> savings;  // the most bytes first; at most one for each site
  std::vector<memory_site> sites;      // the most at the peak or at the end first; without those that had none
};

// Returns nothing if the bytes in use are not known.
std::optional<heap_residence> heap_in(const format::residence_facts& residence, const memory_findings& memory);

// `sites` are those of the recording, grouped or not, and must outlive the result.
memory_findings find_memory(const format::recording& recording, const std::vector<site>& sites, const history& course);

}  // namespace tarn::analyse
