#include "profiler/findings/waits/read_mostly.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "profiler/findings/heap/share.hpp"

namespace tarn::analyse {
namespace {

constexpr double rare_share = 0.01;  // replacements have at most this share of the acquisitions
constexpr std::uint64_t longest_read_ns = 10'000;
constexpr std::uint64_t replacement_factor = 2;  // a replacement holds the lock at least twice as long as a read

// The acquisitions from one function, whose frame is the last of the first `own_frames` of its stacks.
struct function_use {
  stack_use sums;
  std::uint32_t busiest_stack = 0;
  std::uint64_t busiest_acquisitions = 0;
  std::size_t own_frames = 0;
};

std::uint64_t mean_hold(const stack_use& use) { return use.holds == 0 ? 0 : use.held_ns / use.holds; }

void add(stack_use& sums, const stack_use& increase) {
  sums.acquisitions += increase.acquisitions;
  sums.reader_acquisitions += increase.reader_acquisitions;
  sums.holds += increase.holds;
  sums.held_ns += increase.held_ns;
  sums.threads.insert(increase.threads.begin(), increase.threads.end());
}

// Returns the number of frames that tell functions apart. It is greater than that of the inner frames if all stacks
// agree in these, because one function of the program takes the lock for all others.
std::size_t telling_frames(const format::recording& recording, const uses_by_stack& uses, std::size_t inner) {
  const std::vector<std::uint64_t>& first = recording.sites[uses.begin()->first].frames;
  std::size_t equal = first.size();
  for (const auto& [site, use] : uses) {
    const std::vector<std::uint64_t>& frames = recording.sites[site].frames;
    const auto [difference, unused_position] = std::mismatch(first.begin(), first.end(), frames.begin(), frames.end());
    equal = std::min(equal, static_cast<std::size_t>(difference - first.begin()));
  }
  return equal >= inner ? equal + 1 : 0;
}

std::vector<function_use> by_function(const format::recording& recording, const uses_by_stack& uses,
                                      own_code& own_frames) {
  const std::size_t telling = telling_frames(recording, uses, own_frames.inner_frames(uses.begin()->first).size());
  std::map<std::vector<std::uint64_t>, function_use> functions;
  for (const auto& [site, use] : uses) {
    std::vector<std::uint64_t> inner = own_frames.inner_frames(site);
    const std::vector<std::uint64_t>& frames = recording.sites[site].frames;
    if (telling > inner.size())
      inner.assign(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(std::min(telling, frames.size())));
    const std::size_t size = inner.size();
    function_use& function = functions[std::move(inner)];
    function.own_frames = size;
    add(function.sums, use);
    if (use.acquisitions > function.busiest_acquisitions) {
      function.busiest_acquisitions = use.acquisitions;
      function.busiest_stack = site;
    }
  }
  std::vector<function_use> sorted;
  for (auto& [frames, function] : functions) sorted.push_back(std::move(function));
  std::stable_sort(sorted.begin(), sorted.end(), [](const function_use& left, const function_use& right) {
    return left.sums.acquisitions < right.sums.acquisitions;
  });
  return sorted;
}

// Returns whether memory is allocated in the call of the function from which the lock is acquired: the frames of its
// callers are then in the stack of an allocation. Frames of the C library tell nothing, because all threads begin
// there.
bool allocates(const format::recording& recording, const function_use& function, own_code& own_frames) {
  const format::site_facts& taking = recording.sites[function.busiest_stack];
  if (function.own_frames >= taking.frames.size()) return false;
  if (own_frames.is_runtime_code(taking.image, taking.frames[function.own_frames])) return false;
  const auto callers = taking.frames.begin() + static_cast<std::ptrdiff_t>(function.own_frames);
  std::uint32_t last = 0;
  for (const auto& [key, counts] : recording.cells) {
    if (key.site == last) continue;
    last = key.site;
    const format::site_facts& allocating = recording.sites[key.site];
    if (allocating.image != taking.image) continue;
    const auto meeting = std::find(allocating.frames.begin(), allocating.frames.end(), *callers);
    if (meeting == allocating.frames.begin() || meeting == allocating.frames.end()) continue;
    // One of the stacks may be cut off at the outer end.
    const auto [difference, other_difference] =
        std::mismatch(meeting, allocating.frames.end(), callers, taking.frames.end());
    if (difference == allocating.frames.end() || other_difference == taking.frames.end()) return true;
  }
  return false;
}

}  // namespace

std::optional<read_mostly_use> known_reads(const uses_by_stack& uses) {
  read_mostly_use result{.is_known = true};
  std::uint64_t acquisitions = 0, max_acquisitions = 0;
  for (const auto& [site, use] : uses) {
    const std::uint64_t replacements = use.acquisitions - std::min(use.reader_acquisitions, use.acquisitions);
    acquisitions += use.acquisitions;
    result.reads += use.acquisitions - replacements;
    result.replacements += replacements;
    if (replacements > max_acquisitions) max_acquisitions = replacements, result.replacing_site = site;
  }
  if (!is_share(result.reads, acquisitions, mostly)) return std::nullopt;
  return result;
}

std::optional<read_mostly_use> presumed_reads(const format::recording& recording, const uses_by_stack& uses,
                                              own_code& own_frames) {
  if (uses.size() < 2) return std::nullopt;
  std::uint64_t acquisitions = 0;
  for (const auto& [site, use] : uses) acquisitions += use.acquisitions;
  const std::vector<function_use> functions = by_function(recording, uses, own_frames);
  // `functions` begins with those that take the lock seldom.
  std::uint64_t of_rare_ones = 0;
  std::size_t rare_ones = 0;
  while (rare_ones < functions.size() &&
         !is_share(of_rare_ones + functions[rare_ones].sums.acquisitions, acquisitions, rare_share)) {
    of_rare_ones += functions[rare_ones++].sums.acquisitions;
  }
  stack_use reads;
  for (std::size_t index = rare_ones; index < functions.size(); ++index) {
    if (mean_hold(functions[index].sums) >= longest_read_ns) return std::nullopt;
    add(reads, functions[index].sums);
  }
  if (reads.threads.size() < 2 || reads.holds == 0) return std::nullopt;
  const bool has_heap = !recording.cells.empty();
  for (std::size_t index = rare_ones; index-- != 0;) {
    const stack_use& use = functions[index].sums;
    if (use.holds == 0 || mean_hold(use) < replacement_factor * mean_hold(reads)) continue;
    if (has_heap && !allocates(recording, functions[index], own_frames)) continue;
    return read_mostly_use{.is_known = false,
                           .reads = reads.acquisitions,
                           .replacements = use.acquisitions,
                           .read_ns = mean_hold(reads),
                           .replacement_ns = mean_hold(use),
                           .replacing_site = functions[index].busiest_stack,
                           .allocates_memory = has_heap};
  }
  return std::nullopt;
}

}  // namespace tarn::analyse
