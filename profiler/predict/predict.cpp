#include "profiler/predict/predict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "profiler/predict/recording_cost.hpp"

namespace tarn::analyse {
namespace {

using format::counter;

// Returns the possible patterns of blocks with this lifetime; their prices bound the true cost. For a block with a
// long lifetime it is unknown whether it is freed among many others or makes room for the next one.
std::span<const lifetime_pattern> patterns_of(std::size_t life_bucket) {
  static constexpr std::array patterns = {lifetime_pattern::soon, lifetime_pattern::busy, lifetime_pattern::burst,
                                          lifetime_pattern::cold};
  if (life_bucket <= 1) return std::span(patterns).first(2);
  return std::span(patterns).first(life_bucket < 5 ? 3 : 4);
}
// `soon` is possible: a thread that frees blocks of another one and allocates as many of the size reuses them from
// its own cache.
constexpr std::array handed_over = {lifetime_pattern::soon, lifetime_pattern::handed, lifetime_pattern::met};
constexpr std::array left_behind = {lifetime_pattern::burst, lifetime_pattern::cold};

// The blocks of a site with one lifetime: freed by their owner at some age, freed by another thread, or not freed.
struct lifetime_class {
  double blocks;
  std::span<const lifetime_pattern> patterns;
};
std::vector<lifetime_class> lifetime_classes_of(const site& site) {
  std::vector<lifetime_class> classes;
  for (std::size_t index = 0; index < format::life_bucket_count; ++index) {
    const double blocks = as_double(site.sums[counter::life_buckets + index]);
    if (blocks != 0) classes.push_back({blocks, patterns_of(index)});
  }
  if (site.remote_frees != 0) classes.push_back({as_double(site.remote_frees), handed_over});
  if (site.unfreed() != 0) classes.push_back({as_double(site.unfreed()) / 2, left_behind});  // no free
  return classes;
}

// Returns the sum of price(pattern, size) over all blocks; its bounds use the cheapest and the most expensive of each
// block's patterns.
template <class Price>
range sum_over(const site& site, const Price& price) {
  const double blocks = as_double(site.sums[counter::blocks]);
  range sum;
  if (blocks == 0) return sum;
  for (const lifetime_class& lifetime : lifetime_classes_of(site)) {
    for (std::size_t size = 0; size < format::size_bucket_count; ++size) {
      const double share = as_double(site.sums[counter::size_buckets + size]) / blocks;
      if (share == 0) continue;
      constexpr double largest = std::numeric_limits<double>::max();
      range bounds = {largest, -largest};
      for (const lifetime_pattern pattern : lifetime.patterns) {
        const double ns = price(pattern, size);
        bounds.low = std::min(bounds.low, ns);
        bounds.high = std::max(bounds.high, ns);
      }
      sum += bounds * (lifetime.blocks * share);
    }
  }
  return sum;
}

double share_of_steps(const growth& growth) {
  return as_double(growth.steps) / std::max(as_double(growth.blocks), 1.0);
}

// The time of the first access to a page, with and without a hypervisor (docs/reference/cost-model.md).
constexpr range page_ns = {250, 3000};
constexpr double page_bytes = 4096;

// Returns the time of the pages that a reserve adds. They are touched once each if later buffers take the place of
// earlier ones, else anew by each buffer that lives long.
range memory_cost_of(const site& site, const growth& grown) {
  double long_lived = as_double(site.unfreed()) + as_double(site.remote_frees);
  for (std::size_t index = 5; index < format::life_bucket_count; ++index)
    long_lived += as_double(site.sums[counter::life_buckets + index]);
  const double buffers =
      as_double(site.sums[counter::blocks]) * as_double(grown.buffers) / std::max(as_double(grown.blocks), 1.0);
  const double at_peak = std::min(as_double(site.peak_blocks), buffers);
  return {at_peak * grown.spare_pages * page_ns.low,
          std::max(at_peak, std::min(long_lived, buffers)) * grown.spare_pages * page_ns.high};
}

// Sets what follows from a reserve of the largest size of a bucket.
void reserve_bucket(growth& growth, const site& site, std::size_t bucket) {
  growth.bytes = format::size_bucket_end(bucket);
  growth.saved_shares = {};
  double buffer_count = 0, fitting = 0, spare = 0, pages = 0;
  for (const double buffers : growth.ends) buffer_count += buffers;
  for (std::size_t index = 0; index <= bucket; ++index) {
    const double blocks = as_double(site.sums[counter::size_buckets + index]);
    growth.saved_shares[index] = index < bucket ? 1 : 1 - as_double(growth.buffers) / std::max(blocks, 1.0);
    const double unused = as_double(growth.bytes - format::size_bucket_end(index));
    fitting += growth.ends[index];
    spare += growth.ends[index] * unused;
    pages += growth.ends[index] * std::min(unused, page_bytes) / page_bytes;
  }
  buffer_count = std::max(buffer_count, 1.0);
  growth.fitting_share = fitting / buffer_count;
  growth.spare_bytes = spare / buffer_count;
  growth.spare_pages = pages / buffer_count;
}

// Sets what follows if each buffer reserves as much as it needs.
void reserve_exactly(growth& growth, const site& site) {
  growth.bytes = 0;
  growth.fitting_share = 1;
  growth.spare_bytes = growth.spare_pages = 0;
  for (std::size_t index = 0; index < format::size_bucket_count; ++index) {
    const double blocks = as_double(site.sums[counter::size_buckets + index]);
    growth.saved_shares[index] = blocks == 0 ? 0 : std::max(1 - growth.ends[index] / blocks, 0.0);
  }
}

// Returns the cost of copying: by realloc, and by a growing container, which copies half of the new buffer or more
// because its size doubles.
range copying_cost(const site& site, const cost_model& costs, const growth& grown) {
  range range = costs.copy_ns * as_double(site.sums[counter::copied]);
  if (site.has_grown) range += costs.copy_ns * (as_double(site.sums[counter::bytes]) * share_of_steps(grown) / 2);
  return range;
}

// Predicts the cost if the allocator of the remedy served the blocks that `now` serves. Both use the same pattern,
// because a block that is expensive for one allocator is expensive for the other.
prediction served_by(remedy_kind remedy, allocator_kind now, const site& site, const cost_model& costs,
                     const growth& grown) {
  const allocator_kind allocator = facts_of(remedy).allocator;
  prediction prediction;
  prediction.remedy = remedy;
  prediction.ns = sum_over(
      site, [&](lifetime_pattern pattern, std::size_t size) { return costs.pair_ns(allocator, pattern, size); });
  prediction.ns += copying_cost(site, costs, grown);
  prediction.saved_ns = sum_over(site, [&](lifetime_pattern pattern, std::size_t size) {
    return costs.pair_ns(now, pattern, size) - costs.pair_ns(allocator, pattern, size);
  });
  return prediction;
}

bool is_most(std::uint64_t part, std::uint64_t whole) { return whole != 0 && part * 10 >= whole * 9; }

double lifetimes_from(const site& site, std::size_t first) {
  double blocks = 0;
  for (std::size_t index = first; index < format::life_bucket_count; ++index)
    blocks += as_double(site.sums[counter::life_buckets + index]);
  return blocks;
}

range widen(const range& range, double error) {
  const double less = std::max(1 - error, 0.0), larger = 1 + error;
  return {std::min(range.low * less, range.low * larger), std::max(range.high * less, range.high * larger)};
}

std::vector<std::string> reasons_for(const site& site) {
  std::vector<std::string> reasons;
  const auto count_used = [&](std::size_t first, std::size_t count) {
    const auto* const start = &site.sums[first];
    return std::count_if(start, start + count, [](std::uint64_t value) { return value != 0; });
  };
  if (count_used(counter::size_buckets, format::size_bucket_count) > 1) reasons.emplace_back("sizes differ");
  if (site.freed_by_same_thread != 0) {
    reasons.emplace_back(lifetimes_from(site, 5) > 0.1 * as_double(site.freed_by_same_thread)
                             ? "blocks live long, and may be out of the caches when they are freed"
                             : "how much else is in the caches between two allocations is not known");
  }
  if (site.remote_frees != 0)
    reasons.emplace_back("the two threads may meet in the allocator, or not, and wait for each other elsewhere");
  if (site.sums[counter::copied] != 0) reasons.emplace_back("what realloc copies is near or far");
  return reasons;
}

// Returns true if no size is much more frequent than the smaller ones, so that each buffer grew through them. If not,
// containers of many sizes are filled at once, by resize() or assign(). Counts of samples may be larger by chance, by
// as much as in 95 of 100 recordings, unless even their sum is uncertain.
constexpr double max_growth_error = 0.2;
bool gets_rarer(const site& site) {
  const double error = site.error < max_growth_error ? site.error : 0;
  std::uint64_t before = 0;
  for (std::size_t index = 0; index < format::size_bucket_count; ++index) {
    const std::uint64_t blocks = site.sums[counter::size_buckets + index];
    const double noise = error * std::sqrt(as_double(site.sums[counter::blocks]) * as_double(blocks + before));
    if (before != 0 && as_double(blocks) > as_double(before + before / 16) + noise) return false;
    before = blocks;
  }
  return true;
}

// Returns how many blocks of the first size bucket each buffer takes that grows beyond it. Buffers double, and that
// bucket has several sizes: a vector of int takes 4, 8 and 16 bytes there. For elements of unknown size a whole
// multiple of the next bucket shows it.
std::uint64_t first_blocks_of_a_buffer(const site& site) {
  const std::uint64_t first = site.sums[counter::size_buckets], next = site.sums[counter::size_buckets + 1];
  if (site.sums[counter::reallocs] != 0 || first == 0 || next == 0) return 1;
  std::uint64_t blocks = 1;
  if (site.element_bytes != 0) {
    for (std::uint64_t size = site.element_bytes; size * 2 <= format::size_bucket_end(0); size *= 2) ++blocks;
    return blocks;
  }
  constexpr double max_error = 0.02;
  const double ratio = as_double(first) / as_double(next), nearest = std::round(ratio);
  const bool is_multiple = nearest <= 5 && std::fabs(ratio - nearest) <= max_error * nearest;  // 1 byte doubles 4 times
  return is_multiple ? static_cast<std::uint64_t>(nearest) : 1;
}

// Returns the size of a bucket if a container of single elements doubles from one element on: the largest one in it.
std::uint64_t doubled_size(std::uint64_t element_bytes, std::size_t bucket) {
  std::uint64_t size = element_bytes;
  while (size * 2 <= format::size_bucket_end(bucket)) size *= 2;
  return size;
}

// Returns the bytes of the blocks of the first bucket, if all larger ones have doubled sizes; empty if they have not.
std::optional<std::uint64_t> first_bytes_of(const site& site) {
  std::uint64_t larger = 0;
  for (std::size_t index = 1; index < format::size_bucket_count; ++index)
    larger += site.sums[counter::size_buckets + index] * doubled_size(site.element_bytes, index);
  if (larger > site.sums[counter::bytes]) return std::nullopt;
  return site.sums[counter::bytes] - larger;
}

// Returns whether all blocks of a site have sizes that doubling from one element on gives.
bool doubles_exactly(const site& site) {
  return first_bytes_of(site) == site.sums[counter::size_buckets] * doubled_size(site.element_bytes, 0);
}

// How many buffers end in the first bucket, which has several sizes.
struct first_sizes {
  std::uint64_t buffers = 0;
  bool is_certain = false;  // no other number has as many blocks and bytes
};
// Of n sizes that double, a buffer with k of them has k blocks and (2^k - 1) elements. So the blocks and bytes of the
// bucket are two equations for the buffers with 1, 2 ... n sizes; the fewest and the most buffers that solve them have
// at most two of these numbers.
std::optional<first_sizes> first_sizes_of(const site& site, std::uint64_t sizes) {
  if (site.element_bytes == 0) return std::nullopt;
  const std::optional<std::uint64_t> bytes = first_bytes_of(site);
  if (!bytes) return std::nullopt;
  const auto elements_of = [](std::uint64_t count) { return static_cast<double>((std::uint64_t{1} << count) - 1); };
  const double larger = as_double(site.sums[counter::size_buckets + 1]);
  const double blocks = as_double(site.sums[counter::size_buckets]) - larger * static_cast<double>(sizes);
  const double elements = as_double(*bytes) / site.element_bytes - larger * elements_of(sizes);
  constexpr double tolerance = 1e-6;
  range buffers = {std::numeric_limits<double>::max(), -1};
  for (std::uint64_t small = 1; small <= sizes; ++small) {
    for (std::uint64_t large = small + 1; large <= sizes; ++large) {
      const double small_count = static_cast<double>(small), large_count = static_cast<double>(large);
      const double divisor = small_count * elements_of(large) - large_count * elements_of(small);
      const double small_buffers = (blocks * elements_of(large) - large_count * elements) / divisor;
      const double large_buffers = (small_count * elements - blocks * elements_of(small)) / divisor;
      const double slack = tolerance * std::max(blocks, 1.0);
      if (small_buffers < -slack || large_buffers < -slack) continue;
      buffers.low = std::min(buffers.low, small_buffers + large_buffers);
      buffers.high = std::max(buffers.high, small_buffers + large_buffers);
    }
  }
  if (buffers.high < 0) return std::nullopt;
  return first_sizes{static_cast<std::uint64_t>(std::llround(std::max(buffers.middle(), 0.0))),
                     buffers.high - buffers.low < 0.5 && site.error == 0};
}

}  // namespace

growth growth_of(const site& site) {
  growth growth;
  const std::uint64_t blocks = growth.blocks = site.sums[counter::blocks];
  // Growth comes from realloc, or from new buffers of one container that each outgrow the one before.
  const bool uses_realloc_alone = site.sums[counter::reallocs] * 2 >= blocks;
  if (!uses_realloc_alone && (!site.has_grown || !gets_rarer(site))) return growth;
  // A buffer that reached a size also had all smaller sizes from its first one on, so that the excess of a bucket
  // over the next one is the number of buffers that ended there.
  std::array<std::uint64_t, format::size_bucket_count> ends{};
  std::uint64_t larger = 0, buffers = 0;
  for (std::size_t index = format::size_bucket_count; index-- > 0;) {
    const std::uint64_t in_bucket = site.sums[counter::size_buckets + index];
    const std::uint64_t blocks_of_a_buffer = index == 0 ? first_blocks_of_a_buffer(site) : 1;
    // A buffer that ended in the first bucket had between one and all of the sizes in that bucket.
    ends[index] = in_bucket > larger * blocks_of_a_buffer
                      ? 2 * (in_bucket - larger * blocks_of_a_buffer) / (blocks_of_a_buffer + 1)
                      : 0;
    larger = std::max(larger, in_bucket);
    buffers += ends[index];
  }
  const std::uint64_t by_realloc = blocks - std::min(blocks, site.sums[counter::reallocs]);
  if (site.sums[counter::reallocs] != 0 && by_realloc != 0) buffers = by_realloc;
  const std::uint64_t first_blocks = first_blocks_of_a_buffer(site);
  const bool uses_new = site.sums[counter::reallocs] == 0;
  if (first_blocks > 1 && uses_new) {
    if (const std::optional<first_sizes> first = first_sizes_of(site, first_blocks)) {
      buffers = buffers - ends[0] + first->buffers;
      ends[0] = first->buffers;
      growth.is_counted = first->is_certain;
    }
  } else {
    growth.is_counted = !uses_new || (site.element_bytes != 0 && doubles_exactly(site));
  }
  if (buffers == 0 || buffers * 2 > blocks) return growth;  // at most one step each: a reserve would save too little
  std::uint64_t smaller = 0, total = 0;
  for (const std::uint64_t value : ends) total += value;
  std::transform(ends.begin(), ends.end(), growth.ends.begin(), as_double);
  growth.buffers = buffers;
  growth.steps = blocks - buffers;
  for (std::size_t index = 0; index < format::size_bucket_count && growth.bytes == 0; ++index) {
    smaller += ends[index];
    if (is_most(smaller, total)) reserve_bucket(growth, site, index);
  }
  return growth;
}

std::uint64_t blocks_until_growth_is_known(const site& site) {
  constexpr double largest_error = 10;  // of a few samples, whose error is not known either
  if (!site.has_grown || site.error < max_growth_error || gets_rarer(site) || growth_of(site).steps != 0) return 0;
  // The error falls with the square root of the number of samples.
  const double ratio = std::min(site.error, largest_error) / max_growth_error;
  return static_cast<std::uint64_t>(std::ceil(as_double(site.sums[counter::blocks]) * (ratio * ratio - 1))) + 1;
}

growth predictor::growth_of(const site& site) const {
  const growth largest = analyse::growth_of(site);
  if (largest.steps == 0) return largest;
  growth best = largest;
  reserve_exactly(best, site);
  double max_saved_ns = 0;
  for (std::size_t bucket = 0; bucket < format::size_bucket_count; ++bucket) {
    if (format::size_bucket_end(bucket) > largest.bytes) break;
    if (site.sums[counter::size_buckets + bucket] == 0) continue;
    growth next = largest;
    reserve_bucket(next, site, bucket);
    const double saved_ns = predict_reserve(site, next).saved_ns.middle();
    if (saved_ns < max_saved_ns) continue;
    max_saved_ns = saved_ns;
    best = next;
  }
  return best;
}

predictor::predictor(const format::recording& recording, const cost_model& costs)
    : recording_(recording), costs_(costs), is_threaded_(recording.images + 1U), is_on_drop_in_(recording.images + 1U) {
  std::vector<unsigned> threads(recording.images + 1U);
  const auto index_of = [&](std::uint32_t image) { return std::min<std::size_t>(image, recording.images); };
  for (const format::thread_facts& thread : recording.threads) {
    if (++threads[index_of(thread.image)] > 1) is_threaded_[index_of(thread.image)] = true;
  }
  for (const format::module_facts& module : recording.modules) {
    if (module.path.ends_with("/libtarn-malloc.so")) is_on_drop_in_[index_of(module.image)] = true;
  }
}

allocator_kind predictor::allocator_of(const site& site) const {
  const std::size_t image = std::min(recording_.sites[site.number].image, recording_.images);
  if (is_on_drop_in_[image]) return allocator_kind::drop_in;
  return is_threaded_[image] ? allocator_kind::malloc : allocator_kind::single_threaded;
}

site_prediction predictor::predict(const site& site, const growth& grown) const {
  site_prediction result = predict_exactly(site, grown);
  if (site.error > 0) {  // the counts are estimates
    result.now_ns = widen(result.now_ns, site.error);
    for (prediction& remedy : result.remedies) {
      remedy.ns = widen(remedy.ns, site.error);
      remedy.saved_ns = widen(remedy.saved_ns, site.error);
    }
    result.reasons.emplace_back("the counts are those of samples");
  }
  return result;
}

std::optional<double> misprediction_rate_of(const format::recording& recording) {
  if (!recording.has_ended || recording.end.instructions == 0) return std::nullopt;
  double calls = 0;
  for (const format::thread_facts& thread : recording.threads)
    calls += as_double(thread.allocations) + as_double(thread.frees);
  return calls == 0 ? 0 : std::min(as_double(recording.end.branch_mispredictions) / calls, 1.0);
}

// The error covers the effects that a replay cannot show: the effect of a call on the code around it, and other kinds
// of work than these two.
range cost_of(const call_ns& call, double blocks, double error, std::optional<double> misprediction_rate) {
  const range bounds = misprediction_rate ? range{call.at_misprediction_rate(*misprediction_rate),
                                                  call.at_misprediction_rate(*misprediction_rate)}
                                          : ordered_range(call.overlapping, call.mispredicted);
  return widen(bounds * blocks, std::max(error, prediction_error));
}

bool is_above_noise(const call_ns& cost, std::optional<double> misprediction_rate) {
  return cost_of(cost, 1, 0, misprediction_rate).low > 0;
}

void correct(site_prediction& result, const site& site, const replayed& replayed,
             std::optional<double> misprediction_rate) {
  const auto of_all_blocks = [&](const call_ns& call) {
    return cost_of(call, as_double(site.sums[counter::blocks]), site.error, misprediction_rate);
  };
  result.now_ns = of_all_blocks(replayed.now);
  for (prediction& remedy : result.remedies) {
    const remedy_facts& facts = facts_of(remedy.remedy);
    const call_ns saved = facts.saving == nullptr ? call_ns() : replayed.*facts.saving;
    if (saved.overlapping == 0 && saved.mispredicted == 0) continue;
    remedy.saved_ns = of_all_blocks(saved);
    // Growth steps and temporaries are surrounded by other work, of which a program has more than of heap work: new
    // programs saved less than the repetition of bare calls showed. This never happened with pooled blocks.
    if (!facts.is_inlined && remedy.remedy != remedy_kind::drop_in) {
      const double hidden = std::max(saved.hidden, 0.0) * as_double(site.sums[counter::blocks]);
      remedy.saved_ns.low = std::min(remedy.saved_ns.low, hidden * (1 - std::max(site.error, prediction_error)));
    }
    // The excerpts use the memory again that they free.
    remedy.saved_ns.low -= remedy.memory_ns.high;
    remedy.saved_ns.high -= remedy.memory_ns.low;
    // The saving may have a wider range than the cost, so that the lower end of one may belong to the upper end of the
    // other.
    remedy.ns = ordered_range(std::max(result.now_ns.low - remedy.saved_ns.low, 0.0),
                              std::max(result.now_ns.high - remedy.saved_ns.high, 0.0));
  }
  result.reasons.clear();
  if (!misprediction_rate)
    result.reasons.emplace_back("how much of the calls overlaps with other work was not recorded");
  result.reasons.emplace_back("what a call costs the code around it is not known");
  if (site.error > 0) result.reasons.emplace_back("the counts are those of samples");
}

// Returns the prediction without the cost that remains.
prediction predictor::predict_reserve(const site& site, const growth& grown) const {
  prediction result;
  result.remedy = remedy_kind::reserve;
  const allocator_kind now = allocator_of(site);
  result.saved_ns = sum_over(site, [&](lifetime_pattern pattern, std::size_t size) {
    return costs_.pair_ns(now, pattern, size) * grown.saved_shares[size];
  });
  // Growth up to the reserved size copies nothing any more.
  double blocks = 0, bytes = 0, bytes_in_place = 0;
  for (std::size_t size = 0; size < format::size_bucket_count; ++size) {
    const double in_bucket = as_double(site.sums[counter::size_buckets + size]);
    const double in_bytes = in_bucket * as_double(format::size_bucket_end(size));
    blocks += in_bucket * grown.saved_shares[size];
    bytes += in_bytes;
    if (grown.bytes == 0 || format::size_bucket_end(size) <= grown.bytes) bytes_in_place += in_bytes;
  }
  result.saved_ns += copying_cost(site, costs_, grown) * (bytes == 0 ? 0 : bytes_in_place / bytes);
  result.calls_saved = static_cast<std::uint64_t>(std::llround(std::max(blocks, 0.0)));
  result.memory_ns = memory_cost_of(site, grown);
  result.saved_ns = {result.saved_ns.low - result.memory_ns.high, result.saved_ns.high - result.memory_ns.low};
  // Where no fixed number pays, only code that knows the number of elements gains.
  if (grown.bytes == 0) result.saved_ns.low = std::min(result.saved_ns.low, 0.0);
  return result;
}

site_prediction predictor::predict_exactly(const site& site, const growth& grown) const {
  site_prediction result;
  const allocator_kind now = allocator_of(site);
  const auto served = [&](remedy_kind remedy) { return served_by(remedy, now, site, costs_, grown); };
  result.now_ns =
      sum_over(site, [&](lifetime_pattern pattern, std::size_t size) { return costs_.pair_ns(now, pattern, size); });
  const range copies = copying_cost(site, costs_, grown);
  result.now_ns += copies;
  result.reasons = reasons_for(site);
  const std::uint64_t blocks = site.sums[counter::blocks];

  if (grown.steps != 0 && site.category != heap_category::kept) {
    prediction reserve = predict_reserve(site, grown);
    reserve.ns = ordered_range(std::max(result.now_ns.low - reserve.saved_ns.low, 0.0),
                               std::max(result.now_ns.high - reserve.saved_ns.high, 0.0));
    result.remedies.push_back(reserve);
  }
  if (site.category == heap_category::same_thread) {
    const bool is_short = is_short_lived(site);
    if (is_short) {
      result.remedies.push_back({remedy_kind::hoist, {}, result.now_ns, blocks});
      prediction recycled = served(remedy_kind::recycle);
      recycled.calls_saved = blocks;
      result.remedies.push_back(recycled);
    }
    result.remedies.push_back(served(remedy_kind::pooled));
    if (is_short) result.remedies.push_back(served(remedy_kind::arena));
  }
  if (site.category == heap_category::cross_thread) {
    // Threads that wait for each other may spend the saved time sleeping and waking, so only the upper bound is sure.
    for (const remedy_kind remedy : {remedy_kind::shared_pool, remedy_kind::pooled}) {
      result.remedies.push_back(served(remedy));
      range& saved = result.remedies.back().saved_ns;
      saved.low = std::min(saved.low, 0.0);
    }
  }
  if (now != allocator_kind::drop_in) result.remedies.push_back(served(remedy_kind::drop_in));
  return result;
}

void program_costs::set_heap(const range& ns) {
  heap_ns = ns;
  if (remaining_ns.high == 0) return;
  // The program takes at least the time of its heap. Where that is more than recording seems to have left, the cost of
  // recording may be stated too high.
  const bool is_doubtful = ns.middle() > remaining_ns.middle();
  cpu_ns.high = std::max({remaining_ns.high, ns.low, is_doubtful ? std::min(ns.high, spent_ns) : 0});
  cpu_ns.low = std::clamp(remaining_ns.low, heap_ns.low, cpu_ns.high);
}

program_costs predictor::program_costs_of(const heap_findings& findings, double measured_cpu_ns) const {
  program_costs costs;
  range heap_ns;
  for (const site& site : findings.sites) {
    const site_prediction predicted = predict(site);
    heap_ns += predicted.now_ns;
    for (const prediction& prediction : predicted.remedies) {
      if (prediction.remedy == remedy_kind::drop_in) costs.drop_in_saves_ns += prediction.saved_ns;
    }
  }
  costs.recorder_ns = cost_of(recording_).total_range();
  costs.wall_ns = as_double(recording_.end.wall_us) * 1e3;
  costs.spent_ns = as_double(recording_.end.user_us + recording_.end.system_us) * 1e3;
  if (measured_cpu_ns > 0) {
    costs.cpu_ns = {measured_cpu_ns, measured_cpu_ns};
  } else if (recording_.has_ended && costs.spent_ns < shortest_ns && costs.recorder_ns.high >= costs.spent_ns) {
    costs.is_too_short = costs.spent_ns > 0;
  } else if (recording_.has_ended) {  // otherwise the time is unknown
    costs.remaining_ns = {costs.spent_ns - costs.recorder_ns.high, costs.spent_ns - costs.recorder_ns.low};
  }
  costs.set_heap(heap_ns);
  return costs;
}

}  // namespace tarn::analyse
