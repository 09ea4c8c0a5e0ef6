#include "profiler/findings/heap/memory.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "profiler/findings/heap/share.hpp"

namespace tarn::analyse {
namespace {

levels sum_of(const site& site, const std::map<std::uint32_t, levels>& levels_by_site, std::size_t intervals) {
  levels sum(intervals);
  const auto add = [&](std::uint32_t number) {
    const auto match = levels_by_site.find(number);
    if (match == levels_by_site.end()) return;
    for (std::size_t index = 0; index < intervals; ++index) sum[index] += match->second[index];
  };
  add(site.number);
  for (const std::uint32_t number : site.merged_sites) add(number);
  return sum;
}

// A straight line through the levels of the intervals [first, last), by least squares.
struct slope {
  double bytes_per_second = 0;
  double error = 0;  // the standard error
};
slope slope_of(const history& course, const levels& bytes, std::size_t first, std::size_t last) {
  const auto count = static_cast<double>(last - first);
  double mean_time = 0, mean_level = 0;
  const auto seconds = [&](std::size_t index) { return static_cast<double>(course.intervals[index].to_ns) / 1e9; };
  for (std::size_t index = first; index < last; ++index) {
    mean_time += seconds(index) / count;
    mean_level += bytes[index] / count;
  }
  double squares = 0, products = 0;
  for (std::size_t index = first; index < last; ++index) {
    const double time = seconds(index) - mean_time;
    squares += time * time;
    products += time * (bytes[index] - mean_level);
  }
  if (squares <= 0 || count < 3) return {};
  slope line{products / squares, 0};
  double residuals = 0;
  for (std::size_t index = first; index < last; ++index) {
    const double residual = bytes[index] - mean_level - line.bytes_per_second * (seconds(index) - mean_time);
    residuals += residual * residual;
  }
  line.error = std::sqrt(residuals / (count - 2) / squares);
  return line;
}

// A sample of a block stands for at most as many bytes as the mean distance of two samples, so this bounds the
// standard error of a sum of samples.
double sampling_error(double interval, double bytes) { return std::sqrt(interval * std::max(bytes, 0.0)); }

constexpr double max_rounding = 32;  // times the bytes: that of blocks of one byte
constexpr double certain = 3;        // standard errors
constexpr double slower = 0.5;       // the share of the earlier rate below which a rise slows down
constexpr double min_rise = 0.05;    // of the earlier bytes: the least growth in the last third that is a rise

void judge(memory_site& result, const history& course, const levels& bytes, double interval) {
  const std::size_t count = bytes.size();
  if (count < min_trend_snapshots) return;
  const std::size_t first = count / 3, second = count * 2 / 3;
  const slope middle = slope_of(course, bytes, first, second), last = slope_of(course, bytes, second, count);
  const double seconds = static_cast<double>(course.intervals.back().to_ns - course.intervals[second - 1].to_ns) / 1e9;
  const double risen = bytes.back() - bytes[first];
  const double error = sampling_error(interval, std::max(bytes.back(), bytes[first]));
  if (risen <= certain * error || risen < min_rise * std::max(bytes[first], 0.0) || risen < 4096) {
    result.course = trend::steady;
    return;
  }
  const bool is_rising = last.bytes_per_second > certain * last.error &&
                         last.bytes_per_second >= slower * middle.bytes_per_second &&
                         last.bytes_per_second * seconds > certain * error;
  result.course = is_rising ? trend::grows : trend::fills;
  result.bytes_per_second = std::max(last.bytes_per_second, 0.0);
}

// The C library's allocator puts a size in front of each block, of at least 32 bytes with it, and rounds up to 16
// bytes.
double rounding_of(const site& site) {
  if (site.live == 0) return 0;
  const double bytes = static_cast<double>(site.live_bytes) / static_cast<double>(site.live);
  return (std::max(std::ceil((bytes + 8) / 16) * 16, 32.0) - bytes) * static_cast<double>(site.live);
}

// Returns whether the allocator is the C library's: others are of another name, or in the program's own file.
bool has_malloc_of_c_library(const format::recording& recording) {
  return std::none_of(recording.modules.begin(), recording.modules.end(), [](const format::module_facts& module) {
    const std::string_view path = module.path;
    return (module.own_functions & format::own_malloc) != 0 ||
           path.substr(path.rfind('/') + 1).find("malloc") != std::string_view::npos;
  });
}

std::vector<lost_memory> lost_in(const format::recording& recording, const std::vector<site>& sites) {
  std::vector<lost_memory> lost;
  if (recording.leaks.empty()) return lost;
  for (const site& site : sites) {
    lost_memory sum{&site, {}};
    const auto add = [&](std::uint32_t number) {
      const auto match = recording.leaks.find(number);
      if (match == recording.leaks.end()) return;
      sum.facts.blocks += match->second.blocks;
      sum.facts.bytes += match->second.bytes;
      sum.facts.first_blocks += match->second.first_blocks;
    };
    add(site.number);
    for (const std::uint32_t number : site.merged_sites) add(number);
    if (sum.facts.blocks != 0) lost.push_back(sum);
  }
  std::sort(lost.begin(), lost.end(), [](const lost_memory& a, const lost_memory& b) {
    return std::pair(b.facts.bytes, a.origin->number) < std::pair(a.facts.bytes, b.origin->number);
  });
  return lost;
}

constexpr double block_overhead = 16;  // of an allocator, for its own size and for rounding
constexpr double shared_entry = 48;    // of a table of shared contents: its node, a counter and a pointer

// The low end leaves out the block with the most unwritten bytes, which the program may still be filling, and what the
// allocator rounds up. The high end counts as unwritten what the site held at the peak and not when it was looked
// through.
memory_saving shrinking_saving(const site& site, const format::site_contents& contents, double scale) {
  const double unwritten = as_double(contents.unwritten_bytes) * scale;
  const double settled = as_double(contents.unwritten_bytes - contents.max_unwritten) * std::min(scale, 1.0) -
                         block_overhead * as_double(contents.unwritten_blocks);
  const double unseen = as_double(site.peak_bytes - std::min(site.peak_bytes, contents.bytes));
  return {&site,
          memory_remedy::shrink,
          contents,
          static_cast<std::uint64_t>(unwritten),
          {std::max(settled, 0.0), std::max(unwritten, as_double(contents.unwritten_bytes) + unseen)}};
}

// The low end subtracts a table of the contents that are shared.
memory_saving sharing_saving(const site& site, const format::site_contents& contents, double scale) {
  const double equal = as_double(contents.equal_bytes) * scale;
  const double table = shared_entry * as_double(contents.blocks - contents.equal_blocks);
  const double unseen = as_double(site.peak_bytes - std::min(site.peak_bytes, contents.bytes));
  return {&site,
          memory_remedy::share,
          contents,
          static_cast<std::uint64_t>(equal),
          {std::max(as_double(contents.equal_bytes) * std::min(scale, 1.0) - table, 0.0),
           std::max(equal, as_double(contents.equal_bytes) + unseen)}};
}

std::vector<memory_saving> savings_in(const format::recording& recording, const std::vector<site>& sites) {
  std::vector<memory_saving> savings;
  for (const site& site : sites) {
    format::site_contents sum;
    const auto add = [&](std::uint32_t number) {
      const auto match = recording.contents.sites.find(number);
      if (match == recording.contents.sites.end()) return;
      const format::site_contents& part = match->second;
      sum.blocks += part.blocks, sum.bytes += part.bytes, sum.repeated += part.repeated;
      sum.unwritten_blocks += part.unwritten_blocks, sum.unwritten_bytes += part.unwritten_bytes;
      sum.max_unwritten = std::max(sum.max_unwritten, part.max_unwritten);
      sum.equal_blocks += part.equal_blocks, sum.equal_bytes += part.equal_bytes;
    };
    add(site.number);
    for (const std::uint32_t number : site.merged_sites) add(number);
    if (sum.bytes == 0 || site.peak_bytes == 0) continue;
    const double scale = as_double(site.peak_bytes) / as_double(sum.bytes);
    const memory_saving shrunk = shrinking_saving(site, sum, scale), shared = sharing_saving(site, sum, scale);
    savings.push_back(shared.bytes > shrunk.bytes ? shared : shrunk);
  }
  std::sort(savings.begin(), savings.end(), [](const memory_saving& a, const memory_saving& b) {
    return std::pair(b.bytes, a.origin->number) < std::pair(a.bytes, b.origin->number);
  });
  return savings;
}

// Sets the ranges of both moments, and their bytes where the totals tell them exactly.
void reconcile(memory_findings& memory, const format::recording& recording) {
  const double interval = static_cast<double>(recording.program.interval);
  const auto range_of = [](std::uint64_t bytes) { return figure_range{as_double(bytes), as_double(bytes)}; };
  if (interval == 0) {
    memory.peak_range = range_of(memory.peak_bytes);
    memory.end_range = range_of(memory.end_bytes);
    return;
  }
  const exact_totals totals = totals_of(recording);
  if (totals.is_whole) memory.max_bytes = totals.max_bytes;
  if (totals.has_freed_none()) memory.peak_bytes = totals.max_bytes;
  if (totals.last_has_freed_none()) memory.end_bytes = totals.last.bytes;
  if (totals.last_has_freed_all()) memory.end_bytes = 0;
  const auto within = [](std::uint64_t limit, figure_range range) {
    return figure_range{std::min(range.low, as_double(limit)), std::min(range.high, as_double(limit))};
  };
  const bool knows_end = totals.last_has_freed_none() || totals.last_has_freed_all();
  memory.end_range = knows_end ? range_of(memory.end_bytes)
                               : within(totals.last.bytes, range_of_samples(interval, as_double(memory.end_bytes)));
  if (recording.part != format::interval{}) return;  // its peak is unknown
  memory.peak_range = totals.has_freed_none()
                          ? range_of(memory.peak_bytes)
                          : within(totals.max_bytes, range_of_peak(interval, as_double(memory.peak_bytes), totals));
  memory.peak_range.low = std::max(memory.peak_range.low, totals.is_whole ? memory.end_range.low : 0);
  for (memory_site& site : memory.sites) {
    site.peak_range.high = std::min(site.peak_range.high, memory.peak_range.high);
    site.live_range.high = std::min(site.live_range.high, memory.end_range.high);
  }
}

}  // namespace

const char* name(trend trend) {
  switch (trend) {
    case trend::unknown: return "unknown";
    case trend::steady: return "steady";
    case trend::fills: return "fills";
    case trend::grows: return "grows";
  }
  return "";
}

std::optional<heap_residence> heap_in(const format::residence_facts& residence, const memory_findings& memory) {
  if (!residence.knows_in_use) return std::nullopt;
  heap_residence heap;
  heap.in_use = std::min(residence.in_use_bytes, memory.max_bytes.value_or(residence.in_use_bytes));
  heap.rounding = static_cast<std::uint64_t>(as_double(heap.in_use) * memory.rounding.value_or(0.0));
  const std::uint64_t busy = heap.in_use + heap.rounding, resident = residence.bytes_of(format::memory_kind::heap);
  heap.free = resident - std::min(resident, busy);
  heap.untouched = busy - std::min(resident, busy);
  return heap;
}

memory_findings find_memory(const format::recording& recording, const std::vector<site>& sites, const history& course) {
  memory_findings result;
  result.peak_ns = recording.peak_ns;
  result.lost = lost_in(recording, sites);
  result.savings = savings_in(recording, sites);
  result.has_trends = course.intervals.size() >= min_trend_snapshots;
  for (const format::snapshot_facts& snapshot : recording.snapshots) {
    result.resident_bytes = std::max(result.resident_bytes, snapshot.resident_bytes);
    result.max_resident_bytes =
        std::max({result.max_resident_bytes, snapshot.resident_bytes, snapshot.peak_resident_bytes});
  }
  const bool is_whole_life = recording.part == format::interval{} && !recording.program.is_late;
  if (is_whole_life) result.resident_bytes = result.max_resident_bytes;
  const double interval = static_cast<double>(recording.program.interval);
  const exact_totals totals = totals_of(recording);
  const std::map<std::uint32_t, levels> levels_by_site = levels_of(recording, course);
  for (const site& site : sites) {
    memory_site row;
    row.origin = &site;
    row.peak_error = relative_error(interval * static_cast<double>(site.peak_bytes), site.peak_bytes);
    row.live_error = relative_error(interval * static_cast<double>(site.live_bytes), site.live_bytes);
    result.peak_blocks += site.peak_blocks;
    result.peak_bytes += site.peak_bytes;
    result.end_blocks += site.live;
    result.end_bytes += site.live_bytes;
    if (site.peak_bytes == 0 && site.live_bytes == 0) continue;
    row.peak_range = range_of_peak(interval, as_double(site.peak_bytes), totals);
    row.live_range = range_of_samples(interval, as_double(site.live_bytes));
    judge(row, course, sum_of(site, levels_by_site, course.intervals.size()), interval);
    result.sites.push_back(row);
  }
  if (result.end_bytes != 0 && has_malloc_of_c_library(recording)) {
    double rounding = 0;
    for (const site& site : sites) rounding += rounding_of(site);
    result.rounding = std::min(rounding / static_cast<double>(result.end_bytes), max_rounding);
  }
  reconcile(result, recording);
  std::sort(result.sites.begin(), result.sites.end(), [](const memory_site& a, const memory_site& b) {
    return std::pair(std::max(b.origin->peak_bytes, b.origin->live_bytes), a.origin->number) <
           std::pair(std::max(a.origin->peak_bytes, a.origin->live_bytes), b.origin->number);
  });
  return result;
}

}  // namespace tarn::analyse
