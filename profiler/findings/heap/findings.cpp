#include "profiler/findings/heap/findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "profiler/findings/heap/estimates.hpp"
#include "profiler/findings/heap/share.hpp"
#include "profiler/findings/heap/thread_count.hpp"
#include "profiler/format/recorder_library.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

using format::counter;

// If the allocating thread does at least this share of a site's frees, those by other threads are exceptions, such as
// at the end of a program.
constexpr double nearly_all = 0.99;

// `is_threaded` is true if the site's program had a second thread.
heap_category categorise(const site& site, bool is_threaded) {
  const std::uint64_t blocks = site.sums[counter::blocks];
  const std::uint64_t lived_on = site.sums[counter::early_blocks] - site.sums[counter::early_frees_alone];
  if (is_threaded && is_share(lived_on, blocks, 0.5) && site.sums[counter::early_frees_threaded] == 0)
    return heap_category::start_up;
  const std::uint64_t frees = site.freed_by_same_thread + site.remote_frees;
  if (!is_share(frees, blocks, 0.5)) return heap_category::kept;
  return is_share(site.freed_by_same_thread, frees, nearly_all) ? heap_category::same_thread
                                                                : heap_category::cross_thread;
}

void add_cell(site& site, const format::heap_key& key, const format::heap_counts& value) {
  for (std::size_t index = 0; index < format::counter_count; ++index) site.sums[index] += value[index];
  // Cells are sorted by site and then by owner. The allocating thread is its own owner.
  if (value[counter::blocks] != 0) site.allocating_threads.push_back(key.owner);
  if (key.owner == key.actor) {
    site.freed_by_same_thread += value[counter::frees];
    for (std::size_t index = 0; index < format::short_lived_buckets; ++index)
      site.short_lived += value[counter::life_buckets + index];
  } else {
    site.remote_frees += value[counter::frees];
    if (value[counter::frees] != 0) site.handovers.push_back({key.owner, key.actor, value[counter::frees]});
  }
}

// Adds the blocks and bytes that the cell had in use, which may be below 0.
void add_memory(site& site, const format::heap_counts& value) {
  site.live_bytes += value[counter::bytes] - value[counter::freed_bytes];
  site.peak_blocks += value[counter::peak_blocks];
  site.peak_bytes += value[counter::peak_bytes];
}

// The allocations of one thread, or of several together: the exact number, and the sum of the samples' weights.
struct sampled_total {
  double exact = 0, estimated = 0, variance = 0;

  void add(const sampled_total& addend) {
    exact += addend.exact;
    estimated += addend.estimated;
    variance += addend.variance;
  }
  // Returns whether about a hundred samples or more are behind the estimate.
  bool is_precise() const { return estimated != 0 && variance <= estimated * estimated / 100; }
  // Returns the factor for a cell of `blocks` estimated blocks, so that all cells add up to the exact number. The
  // difference is distributed by variance: a block that is sampled with certainty stays one block. The factor is 1 if
  // the samples' error does not explain the difference, because few samples tell nothing about sites without one.
  double factor(double blocks, double spread) const {
    constexpr double max_deviations = 3;
    if (estimated == 0 || exact == 0 || blocks == 0) return 1;
    if (exact - estimated > max_deviations * std::sqrt(variance)) return 1;
    if (variance == 0) return exact / estimated;
    return std::max(1 + (exact - estimated) / variance * spread / blocks, 0.0);
  }
};

// Returns for each thread the total that its samples are scaled to: that of the thread if it has many samples,
// otherwise that of all other threads of its image together. A thread that allocates little mostly has no sample, and
// the sample of another one stands for it: scaled to its own total, such a sample would be lost.
std::vector<sampled_total> corrections_of(const format::recording& recording) {
  if (recording.program.mode != "sampled") return {};
  std::vector<sampled_total> threads(recording.threads.size());
  for (const auto& [key, value] : recording.cells) {
    if (key.owner >= threads.size()) continue;
    threads[key.owner].estimated += static_cast<double>(value[counter::blocks]);
    threads[key.owner].variance += static_cast<double>(value[counter::spread]);
  }
  std::vector<sampled_total> images(recording.images + 1U);
  const auto image_of = [&](std::size_t thread) -> sampled_total& {
    return images[std::min(recording.threads[thread].image, recording.images)];
  };
  for (std::size_t index = 0; index < threads.size(); ++index) {
    threads[index].exact = static_cast<double>(recording.threads[index].allocations);
    if (!threads[index].is_precise()) image_of(index).add(threads[index]);
  }
  std::vector<sampled_total> totals;
  for (std::size_t index = 0; index < threads.size(); ++index)
    totals.push_back(threads[index].is_precise() ? threads[index] : image_of(index));
  return totals;
}

// Returns the factor of all cells with the blocks of one site and owner: that of the cell which counts the allocations.
double factor_of(const format::recording& recording, const std::vector<sampled_total>& totals,
                 const format::heap_key& key) {
  if (key.owner >= totals.size()) return 1;
  const auto own_cell = recording.cells.find({key.site, key.owner, key.owner});
  if (own_cell == recording.cells.end()) return 1;
  return totals[key.owner].factor(static_cast<double>(own_cell->second[counter::blocks]),
                                  static_cast<double>(own_cell->second[counter::spread]));
}

std::uint64_t product(std::uint64_t value, double factor) {
  return static_cast<std::uint64_t>(std::round(static_cast<double>(value) * factor));
}

format::heap_counts scale_counts(const format::heap_counts& value, double factor) {
  format::heap_counts result{};
  for (std::size_t index = 0; index < value.size(); ++index) {
    if (format::is_of_peak(static_cast<counter>(index))) continue;  // find() takes them as they are
    if (index == counter::bytes || index == counter::freed_bytes || index == counter::copied) {
      result[index] = value[index];  // most bytes are in large blocks, which samples have with certainty
      continue;
    }
    result[index] = product(value[index], index == counter::spread ? factor * factor : factor);  // a variance
  }
  // Buckets are rounded by their running sums, so that they add up to the rounded total.
  for (const auto& [first, count] : {std::pair{std::size_t{counter::size_buckets}, format::size_bucket_count},
                                     std::pair{std::size_t{counter::life_buckets}, format::life_bucket_count},
                                     std::pair{std::size_t{counter::time_buckets}, format::time_bucket_count}}) {
    std::uint64_t sum = 0;
    for (std::size_t index = first; index < first + count; ++index) {
      result[index] = product(sum + value[index], factor) - product(sum, factor);
      sum += value[index];
    }
  }
  return result;
}

// Returns 0 for a difference below 0.
std::uint64_t above_zero(std::uint64_t difference) {
  return static_cast<std::int64_t>(difference) > 0 ? difference : 0;
}

double error_of(const site& site) {
  const std::uint64_t blocks = site.sums[counter::blocks];
  if (blocks == 0) return 0;
  return 1.96 * std::sqrt(static_cast<double>(site.sums[counter::spread])) / static_cast<double>(blocks);
}

bool more_blocks(const handover& a, const handover& b) { return a.blocks > b.blocks; }

// Returns whether a function belongs to the allocation machinery and does not show why memory is allocated.
bool allocates(const code_location& location) {
  if (format::is_recorder_library(location.module)) return true;
  constexpr std::array<std::string_view, 8> starts = {"operator new",
                                                      "std::allocator",
                                                      "std::__new_allocator",
                                                      "__gnu_cxx::new_allocator",
                                                      "std::_Vector_base",
                                                      "std::__detail::_Hashtable_alloc",
                                                      "std::__allocate_guarded",
                                                      "std::make_unique"};
  const std::string_view name = qualified_name(location.function);
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

const char* name(heap_category category) {
  switch (category) {
    case heap_category::same_thread: return "same-thread";
    case heap_category::cross_thread: return "cross-thread";
    case heap_category::start_up: return "start-up";
    case heap_category::kept: return "kept";
  }
  return "";
}

bool is_short_lived(const site& site) { return is_share(site.short_lived, site.freed_by_same_thread, 0.9); }
bool is_accumulated(const site& site) {
  return site.peak_blocks != 0 && is_share(site.peak_blocks, site.sums[counter::blocks], 0.5);
}

void add_site(site& sum, const site& addend) {
  for (std::size_t index = 0; index < format::counter_count; ++index) sum.sums[index] += addend.sums[index];
  sum.freed_by_same_thread += addend.freed_by_same_thread;
  sum.remote_frees += addend.remote_frees;
  sum.live += addend.live;
  sum.live_bytes += addend.live_bytes;
  sum.peak_blocks += addend.peak_blocks;
  sum.peak_bytes += addend.peak_bytes;
  sum.short_lived += addend.short_lived;
  sum.error = error_of(sum);
  std::vector<std::uint32_t> threads;
  std::set_union(sum.allocating_threads.begin(), sum.allocating_threads.end(), addend.allocating_threads.begin(),
                 addend.allocating_threads.end(), std::back_inserter(threads));
  sum.allocating_threads = std::move(threads);
  sum.threads = static_cast<std::uint32_t>(sum.allocating_threads.size());
  sum.may_have_more_threads = sum.may_have_more_threads || addend.may_have_more_threads;
  for (const handover& handed : addend.handovers) {
    const auto match = std::find_if(sum.handovers.begin(), sum.handovers.end(), [&](const handover& known_handover) {
      return known_handover.allocating_thread == handed.allocating_thread &&
             known_handover.freeing_thread == handed.freeing_thread;
    });
    if (match == sum.handovers.end()) {
      sum.handovers.push_back(handed);
    } else {
      match->blocks += handed.blocks;
    }
  }
  std::sort(sum.handovers.begin(), sum.handovers.end(), more_blocks);
  sum.merged_sites.push_back(addend.number);
}

namespace {

// Returns whether the samples may have missed a thread that allocates as much here as the thread with the least. A
// thread with ten samples is missed in one of 20,000 recordings.
bool may_miss_threads(const format::recording& recording, const site& site) {
  constexpr double min_samples = 10;
  if (site.sums[counter::spread] == 0 || site.allocating_threads.size() >= recording.threads.size()) return false;
  const double blocks = as_double(site.sums[counter::blocks]);
  const double samples = blocks * blocks / as_double(site.sums[counter::spread]);
  return samples < min_samples * as_double(site.allocating_threads.size());
}

}  // namespace

heap_findings find(const format::recording& recording, const format::recording* whole) {
  if (whole != nullptr) {
    heap_findings part = find(recording);
    std::vector<heap_category> categories(recording.sites.size(), heap_category::kept);
    for (const site& site : find(*whole).sites) categories[site.number] = site.category;
    for (site& site : part.sites) site.category = categories[site.number];
    return part;
  }

  heap_findings findings;
  std::vector<std::uint32_t> threads(recording.images +
                                     1U);  // by image; the last entry counts threads of invalid images
  const auto image = [&](std::uint32_t recorded) { return std::min(recorded, recording.images); };
  for (const format::thread_facts& thread : recording.threads) ++threads[image(thread.image)];
  // Cells are sorted by site. For a million sites the vector takes half a gigabyte, so it must not be reallocated.
  std::size_t count = 0;
  std::uint32_t before = ~0U;
  for (const auto& [key, value] : recording.cells) count += std::exchange(before, key.site) != key.site ? 1 : 0;
  findings.sites.reserve(count);
  const std::vector<sampled_total> totals_of_threads = corrections_of(recording);
  for (const auto& [key, value] : recording.cells) {
    if (findings.sites.empty() || findings.sites.back().number != key.site)
      findings.sites.emplace_back().number = key.site;
    const double factor = factor_of(recording, totals_of_threads, key);
    add_cell(findings.sites.back(), key, factor == 1 ? value : scale_counts(value, factor));
    add_memory(findings.sites.back(), value);
  }
  for (site& site : findings.sites) {
    const std::uint64_t blocks = site.sums[counter::blocks], frees = site.sums[counter::frees];
    // A snapshot of a running program may already contain the free. The blocks of an earlier program ended with it.
    const bool is_of_last = recording.is_of_last_image(site.number);
    site.live = is_of_last && blocks > frees ? blocks - frees : 0;
    site.live_bytes = is_of_last ? above_zero(site.live_bytes) : 0;
    site.peak_blocks = above_zero(site.peak_blocks);
    site.peak_bytes = above_zero(site.peak_bytes);
    site.category = categorise(site, threads[image(recording.sites[site.number].image)] > 1);
    const thread_count of_site = count_threads(recording, site.allocating_threads);
    site.threads = of_site.threads;
    site.may_have_more_threads = of_site.may_be_more || may_miss_threads(recording, site);
    site.error = error_of(site);
    std::sort(site.handovers.begin(), site.handovers.end(), more_blocks);
    findings.allocations += blocks;
    findings.frees += frees;
    findings.bytes += site.sums[counter::bytes];
    findings.live += site.live;
    if (!is_of_last) findings.ended_blocks += site.unfreed();
  }
  const bool is_sampled = recording.program.mode == "sampled";
  if (is_sampled) {  // the totals of all sites together are known exactly
    const exact_totals totals = totals_of(recording);
    findings.allocations = totals.allocations;
    findings.frees = totals.frees;
    findings.bytes = totals.bytes;
    findings.live = totals.last.allocations - std::min(totals.last.allocations, totals.last.frees);
    const std::uint64_t earlier = totals.allocations - totals.last.allocations;
    findings.ended_blocks = earlier - std::min(earlier, totals.frees - totals.last.frees);
    reconcile(findings.sites, totals, recording.cells.size());
  }
  for (const format::thread_facts& thread : recording.threads) {
    findings.unknown += thread.unknown;
    findings.dropped += thread.dropped;
  }
  std::sort(findings.sites.begin(), findings.sites.end(), [](const site& a, const site& b) {
    return std::pair(b.sums[counter::blocks], a.number) < std::pair(a.sums[counter::blocks], b.number);
  });
  return findings;
}

std::vector<code_location> frames_of(const format::recording& recording, const site& site, symbols& symbols) {
  std::vector<code_location> frames;
  const format::site_facts& facts = recording.sites[site.number];
  for (const std::uint64_t frame : facts.frames) {
    const std::vector<code_location>& locations = symbols.resolve(facts.image, frame);
    frames.insert(frames.end(), locations.begin(), locations.end());
  }
  return frames;
}

std::vector<code_location> stack_of(std::vector<code_location> frames) {
  const auto first = std::find_if_not(frames.begin(), frames.end(), allocates);
  if (first != frames.end()) frames.erase(frames.begin(), first);
  return frames;
}

}  // namespace tarn::analyse
