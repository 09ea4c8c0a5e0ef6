#include "profiler/findings/heap/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "profiler/findings/heap/share.hpp"

namespace tarn::analyse {
namespace {

using format::counter;

// The rule of three: if no sample was taken, the true number of samples that could be expected is at most this.
constexpr double unseen_samples = 3;

double cube(double value) { return value * value * value; }

double low_end(double samples, double deviations) {
  if (samples <= 0) return 0;
  return samples * cube(std::max(1 - 1 / (9 * samples) - deviations / (3 * std::sqrt(samples)), 0.0));
}
double high_end(double samples, double deviations) {
  const double upper = samples + 1;
  return samples <= 0 ? unseen_samples : upper * cube(1 - 1 / (9 * upper) + deviations / (3 * std::sqrt(upper)));
}

// Returns how many standard errors the highest of `moments` is away from its mean: the normal quantile that one of
// 40 such recordings exceeds (Abramowitz and Stegun 26.2.23).
double deviations_of_highest(double moments) {
  const double t = std::sqrt(-2 * std::log(0.025 / std::max(moments, 1.0)));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

// Lowers the values of all sites, if their sum is above `limit`, until it is the limit: each by its share of `errors`,
// so that blocks which are sampled with certainty stay. They are rounded by their running sums.
template <class Value>
void limit_sum(std::vector<site>& sites, std::uint64_t limit, const std::vector<double>& errors, Value value) {
  std::uint64_t sum = 0;
  double variance = 0;
  for (std::size_t index = 0; index < sites.size(); ++index) {
    sum += value(sites[index]);
    variance += as_double(value(sites[index])) * errors[index];
  }
  if (sum <= limit) return;
  const double excess = as_double(sum - limit);
  const auto take_off = [&](auto share_of) {
    std::uint64_t left = 0;
    for (site& site : sites) left += value(site);
    double wanted_sum = 0, lowered_sum = 0;
    for (std::size_t index = 0; index < sites.size(); ++index) {
      const double reduction = share_of(index) * as_double(value(sites[index]));
      if (reduction == 0) continue;
      wanted_sum += reduction;
      // Sites before this one may have been lowered by more than is wanted so far, because of rounding.
      const long long missing = std::max(std::llround(wanted_sum - lowered_sum), 0LL);
      const std::uint64_t less = std::min(static_cast<std::uint64_t>(missing), value(sites[index]));
      lowered_sum += as_double(less);
      value(sites[index]) -= less;
      left -= less;
    }
    return left;
  };
  if (variance > 0) sum = take_off([&](std::size_t index) { return std::min(excess * errors[index] / variance, 1.0); });
  std::uint64_t uncertain_sum = 0;
  for (std::size_t index = 0; index < sites.size(); ++index) {
    if (errors[index] > 0) uncertain_sum += value(sites[index]);
  }
  if (sum > limit && uncertain_sum > 0) {  // some sites had less than their share, or rounding has left some
    const double share = std::min(as_double(sum - limit) / as_double(uncertain_sum), 1.0);
    sum = take_off([&](std::size_t index) { return errors[index] > 0 ? share : 0.0; });
  }
  if (sum > limit) {
    const double share = as_double(sum - limit) / as_double(sum);
    take_off([&](std::size_t) { return share; });
  }
}

// Gives the most uncertain site the few blocks that are missing because each cell was rounded for itself. Where all
// sites are known exactly, these are blocks that no sample shows, and stay without a site.
void add_rounded_off(std::vector<site>& sites, std::uint64_t allocations, std::size_t rounded_cells) {
  std::uint64_t sum = 0;
  for (const site& site : sites) sum += site.sums[counter::blocks];
  if (sum >= allocations || allocations - sum > (rounded_cells + 1) / 2) return;
  const auto target = std::max_element(sites.begin(), sites.end(), [](const site& a, const site& b) {
    return a.sums[counter::spread] < b.sums[counter::spread];
  });
  if (target != sites.end() && target->sums[counter::spread] != 0) target->sums[counter::blocks] += allocations - sum;
}

// Lowers the frees of a site to `frees`. The threads and the lifetimes keep their shares, which are rounded by their
// running sums.
void lower_frees(site& site, std::uint64_t frees) {
  const std::uint64_t before = std::exchange(site.sums[counter::frees], frees);
  if (before <= frees) return;
  const double factor = as_double(frees) / as_double(before);
  const auto scaled = [&](std::uint64_t count) {
    return static_cast<std::uint64_t>(std::llround(as_double(count) * factor));
  };
  const auto lower_range = [&](std::size_t first, std::size_t count) {
    std::uint64_t sum = 0;
    for (std::size_t index = first; index < first + count; ++index) {
      const std::uint64_t sum_before = std::exchange(sum, sum + site.sums[index]);
      site.sums[index] = scaled(sum) - scaled(sum_before);
    }
  };
  lower_range(counter::life_buckets, format::life_bucket_count);
  lower_range(counter::time_buckets, format::time_bucket_count);
  site.freed_by_same_thread = std::min(scaled(site.freed_by_same_thread), frees);
  site.remote_frees = frees - site.freed_by_same_thread;
  site.short_lived = std::min(scaled(site.short_lived), site.freed_by_same_thread);
  std::uint64_t sum = 0;
  for (handover& handed : site.handovers) {
    const std::uint64_t sum_before = std::exchange(sum, sum + handed.blocks);
    handed.blocks = scaled(sum) - scaled(sum_before);
  }
}

// Lowers the frees until no site has more of them than blocks, and all together no more than the exact total.
void limit_frees(std::vector<site>& sites, std::uint64_t limit, const std::vector<double>& errors) {
  std::vector<std::uint64_t> frees;
  for (const site& site : sites) frees.push_back(std::min(site.sums[counter::frees], site.sums[counter::blocks]));
  limit_sum(sites, limit, errors, [&](site& site) -> std::uint64_t& { return frees[&site - sites.data()]; });
  for (std::size_t index = 0; index < sites.size(); ++index) lower_frees(sites[index], frees[index]);
}

}  // namespace

exact_totals totals_of(const format::recording& recording) {
  exact_totals totals;
  std::map<std::uint32_t, exact_total> images;
  for (const format::thread_facts& thread : recording.threads) {
    for (exact_total* const sum : {static_cast<exact_total*>(&totals), &images[thread.image]}) {
      sum->allocations += thread.allocations;
      sum->frees += thread.frees;
      sum->bytes += thread.bytes;
    }
  }
  for (const auto& [image, total] : images) {
    totals.max_bytes = std::max(totals.max_bytes, total.bytes);
    if (image + 1 >= recording.images) totals.last = total;
  }
  totals.is_whole = !recording.program.is_late && recording.part == format::interval{};
  return totals;
}

figure_range range_of_samples(double unit, double sum, double deviations) {
  if (unit <= 0) return {sum, sum};
  return {unit * low_end(sum / unit, deviations), unit * high_end(sum / unit, deviations)};
}

figure_range range_of_peak(double interval, double sum, const exact_totals& totals) {
  if (interval <= 0) return {sum, sum};
  const double moments =
      static_cast<double>(totals.bytes + format::cost_of_a_block * totals.allocations) / interval + 1;
  const double low = low_end(std::max(sum / interval - 1, 0.0), deviations_of_highest(moments));
  return {interval * low, range_of_samples(interval, sum).high};
}

void reconcile(std::vector<site>& sites, const exact_totals& totals, std::size_t rounded_cells) {
  // How uncertain each block, and each byte, of a site is: the variance of a sum grows with the blocks that a sample
  // stands for, and with the size of each.
  std::vector<double> block_errors, byte_errors;
  for (const site& site : sites) {
    const double blocks = std::max(as_double(site.sums[counter::blocks]), 1.0);
    block_errors.push_back(as_double(site.sums[counter::spread]) / blocks);
    byte_errors.push_back(block_errors.back() * as_double(site.sums[counter::bytes]) / blocks);
  }
  const auto limit_blocks = [&](std::uint64_t limit, auto value) { limit_sum(sites, limit, block_errors, value); };
  const auto limit_bytes = [&](std::uint64_t limit, auto value) { limit_sum(sites, limit, byte_errors, value); };
  limit_blocks(totals.allocations, [](site& site) -> std::uint64_t& { return site.sums[counter::blocks]; });
  add_rounded_off(sites, totals.allocations, rounded_cells);
  limit_frees(sites, totals.frees, block_errors);
  limit_blocks(totals.max_live(), [](site& site) -> std::uint64_t& { return site.live; });
  limit_blocks(totals.allocations, [](site& site) -> std::uint64_t& { return site.peak_blocks; });
  limit_bytes(totals.bytes, [](site& site) -> std::uint64_t& { return site.sums[counter::bytes]; });
  limit_bytes(totals.bytes, [](site& site) -> std::uint64_t& { return site.sums[counter::copied]; });
  limit_bytes(totals.last_has_freed_all() ? 0 : totals.last.bytes,
              [](site& site) -> std::uint64_t& { return site.live_bytes; });
  limit_bytes(totals.max_bytes, [](site& site) -> std::uint64_t& { return site.peak_bytes; });
  for (site& site : sites) {
    const std::uint64_t blocks = site.sums[counter::blocks], bytes = site.sums[counter::bytes];
    site.live = std::min(site.live, blocks);
    site.peak_blocks = std::min(site.peak_blocks, blocks);
    site.live_bytes = std::min(site.live_bytes, bytes);
    site.peak_bytes = std::min(site.peak_bytes, bytes);
  }
}

}  // namespace tarn::analyse
