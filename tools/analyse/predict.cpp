#include "analyse/predict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace tarn::analyse {
namespace {

using format::counter;

// Returns the possible patterns of blocks with this lifetime; their prices bound the true cost. For a block with a
// long lifetime it is unknown whether it is freed among many others or makes room for the next one.
std::span<const pattern> patterns_of(std::size_t life_bucket) {
  static constexpr std::array all = {pattern::soon, pattern::busy, pattern::burst, pattern::cold};
  if (life_bucket <= 1) return std::span(all).first(2);
  return std::span(all).first(life_bucket < 5 ? 3 : 4);
}
// `soon` is possible: a thread that frees blocks of another one and allocates as many of the size reuses them from
// its own cache.
constexpr std::array handed_over = {pattern::soon, pattern::handed, pattern::met};
constexpr std::array left_behind = {pattern::burst, pattern::cold};

double number(std::uint64_t value) { return static_cast<double>(value); }

// The blocks of a site with one lifetime: freed by their owner at some age, freed by another thread, or not freed.
struct fate {
  double blocks;
  std::span<const pattern> patterns;
};
std::vector<fate> fates_of(const site& of) {
  std::vector<fate> all;
  for (std::size_t at = 0; at < format::life_bucket_count; ++at) {
    const double blocks = number(of.sums[counter::life_buckets + at]);
    if (blocks != 0) all.push_back({blocks, patterns_of(at)});
  }
  if (of.freed_by_other_thread != 0) all.push_back({number(of.freed_by_other_thread), handed_over});
  if (of.live != 0) all.push_back({number(of.live) / 2, left_behind});  // no free
  return all;
}

// Returns the sum of price(pattern, size) over all blocks; its bounds use the cheapest and the most expensive of each
// block's patterns.
template <class Price>
range sum_over(const site& of, const Price& price) {
  const double blocks = number(of.sums[counter::blocks]);
  range sum;
  if (blocks == 0) return sum;
  for (const fate& each : fates_of(of)) {
    for (std::size_t size = 0; size < format::size_bucket_count; ++size) {
      const double share = number(of.sums[counter::size_buckets + size]) / blocks;
      if (share == 0) continue;
      constexpr double most = std::numeric_limits<double>::max();
      range bounds = {most, -most};
      for (const pattern in : each.patterns) {
        const double ns = price(in, size);
        bounds.low = std::min(bounds.low, ns);
        bounds.high = std::max(bounds.high, ns);
      }
      sum += bounds * (each.blocks * share);
    }
  }
  return sum;
}

double share_of_steps(const growth& of) { return number(of.steps) / std::max(number(of.blocks), 1.0); }

// Returns the cost of copying: by realloc, and by a growing container, which copies half of the new buffer or more
// because its size doubles.
range copying(const site& of, const costs& prices, const growth& grown) {
  range made = prices.copy_ns * number(of.sums[counter::copied]);
  if (of.grows) made += prices.copy_ns * (number(of.sums[counter::bytes]) * share_of_steps(grown) / 2);
  return made;
}

// Predicts the cost if `by` served the blocks that `now` serves. Both use the same pattern, because a block that is
// expensive for one allocator is expensive for the other.
prediction served_by(remedy as, server by, server now, const site& of, const costs& prices, const growth& grown) {
  prediction made;
  made.by = as;
  made.ns = sum_over(of, [&](pattern in, std::size_t size) { return prices.pair(by, in, size); });
  made.ns += copying(of, prices, grown);
  made.saved_ns = sum_over(
      of, [&](pattern in, std::size_t size) { return prices.pair(now, in, size) - prices.pair(by, in, size); });
  return made;
}

bool is_most(std::uint64_t part, std::uint64_t whole) { return whole != 0 && part * 10 >= whole * 9; }

double lifetimes_from(const site& of, std::size_t first) {
  double blocks = 0;
  for (std::size_t at = first; at < format::life_bucket_count; ++at)
    blocks += number(of.sums[counter::life_buckets + at]);
  return blocks;
}

range widened(const range& of, double error) {
  const double less = std::max(1 - error, 0.0), more = 1 + error;
  return {std::min(of.low * less, of.low * more), std::max(of.high * less, of.high * more)};
}

std::vector<std::string> reasons_for(const site& of) {
  std::vector<std::string> reasons;
  const auto used = [&](std::size_t first, std::size_t count) {
    const auto* const start = &of.sums[first];
    return std::count_if(start, start + count, [](std::uint64_t each) { return each != 0; });
  };
  if (used(counter::size_buckets, format::size_bucket_count) > 1) reasons.emplace_back("sizes differ");
  if (of.freed_by_same_thread != 0) {
    reasons.emplace_back(lifetimes_from(of, 5) > 0.1 * number(of.freed_by_same_thread)
                             ? "blocks live long, and may be out of the caches when they are freed"
                             : "how much else is in the caches between two allocations is not known");
  }
  if (of.freed_by_other_thread != 0)
    reasons.emplace_back("the two threads may meet in the allocator, or not, and wait for each other elsewhere");
  if (of.sums[counter::copied] != 0) reasons.emplace_back("what realloc copies is near or far");
  return reasons;
}

}  // namespace

const char* name(remedy of) {
  switch (of) {
    case remedy::hoist: return "hoist";
    case remedy::reserve: return "reserve";
    case remedy::recycle: return "recycle";
    case remedy::pooled: return "pooled";
    case remedy::arena: return "arena";
    case remedy::shared: return "shared_pool";
    case remedy::drop_in: return "drop_in";
  }
  return "";
}

namespace {

// Returns whether no size is much more frequent than the smaller ones, so that each buffer grew through them.
// Otherwise containers of many sizes are filled at once, by resize() or assign().
bool gets_rarer(const site& of) {
  std::uint64_t before = 0;
  for (std::size_t at = 0; at < format::size_bucket_count; ++at) {
    const std::uint64_t here = of.sums[counter::size_buckets + at];
    if (before != 0 && here > before + before / 16) return false;
    before = here;
  }
  return true;
}

}  // namespace

growth growth_of(const site& of) {
  growth found;
  const std::uint64_t blocks = found.blocks = of.sums[counter::blocks];
  // Growth comes from realloc, or from new buffers of one container that each outgrow the one before.
  const bool by_realloc_alone = of.sums[counter::reallocs] * 2 >= blocks;
  if (!by_realloc_alone && (!of.grows || !gets_rarer(of))) return found;
  // A buffer that reached a size also had all smaller sizes from its first one on, so that the excess of a bucket
  // over the next one is the number of buffers that ended there.
  std::array<std::uint64_t, format::size_bucket_count> ends{};
  std::uint64_t larger = 0, buffers = 0;
  for (std::size_t at = format::size_bucket_count; at-- > 0;) {
    const std::uint64_t here = of.sums[counter::size_buckets + at];
    ends[at] = here > larger ? here - larger : 0;
    larger = std::max(larger, here);
    buffers += ends[at];
  }
  const std::uint64_t by_realloc = blocks - std::min(blocks, of.sums[counter::reallocs]);
  if (of.sums[counter::reallocs] != 0 && by_realloc != 0) buffers = by_realloc;
  if (buffers == 0 || buffers * 2 > blocks) return found;  // at most one step each: a reserve would save too little
  std::uint64_t below = 0, ended = 0;
  for (const std::uint64_t each : ends) ended += each;
  for (std::size_t at = 0; at < format::size_bucket_count && found.bytes == 0; ++at) {
    below += ends[at];
    if (is_most(below, ended)) found.bytes = format::size_bucket_end(at);
  }
  found.buffers = buffers;
  found.steps = blocks - buffers;
  return found;
}

predictor::predictor(const format::recording& of, const costs& prices)
    : recording_(of),
      prices_(prices),
      is_sampled_(of.program.mode == "sampled"),
      is_threaded_(of.images + 1U),
      is_on_drop_in_(of.images + 1U) {
  std::vector<unsigned> threads(of.images + 1U);
  const auto place = [&](std::uint32_t image) { return std::min<std::size_t>(image, of.images); };
  for (const format::thread_facts& each : of.threads) {
    if (++threads[place(each.image)] > 1) is_threaded_[place(each.image)] = true;
  }
  for (const format::module_facts& each : of.modules) {
    if (each.path.ends_with("/libtarn-malloc.so")) is_on_drop_in_[place(each.image)] = true;
  }
}

server predictor::serves(const site& one) const {
  const std::size_t image = std::min(recording_.sites[one.number].image, recording_.images);
  if (is_on_drop_in_[image]) return server::drop_in;
  return is_threaded_[image] ? server::malloc : server::alone;
}

site_prediction predictor::of(const site& one, const growth& grown) const {
  site_prediction made = counted(one, grown);
  if (one.error > 0) {  // the counts are estimates
    made.now_ns = widened(made.now_ns, one.error);
    for (prediction& each : made.remedies) {
      each.ns = widened(each.ns, one.error);
      each.saved_ns = widened(each.saved_ns, one.error);
    }
    made.reasons.emplace_back("the counts are those of samples");
  }
  return made;
}

std::optional<double> surprises_in(const format::recording& in) {
  if (!in.ended || in.end.instructions == 0) return std::nullopt;
  double calls = 0;
  for (const format::thread_facts& each : in.threads) calls += number(each.allocations) + number(each.frees);
  return calls == 0 ? 0 : std::min(number(in.end.surprises) / calls, 1.0);
}

void correct(site_prediction& that, const site& of, const replayed& by, std::optional<double> surprises) {
  // The error covers what repeating cannot show: the effect of a call on the code around it, and other kinds of work
  // than these two.
  const auto all = [&](const call_ns& each) {
    const range bounds =
        surprises ? range{each.at(*surprises), each.at(*surprises)} : between(each.overlapping, each.surprised);
    return widened(bounds * number(of.sums[counter::blocks]), std::max(of.error, prediction_error));
  };
  that.now_ns = all(by.now);
  for (prediction& each : that.remedies) {
    call_ns saved;
    bool may_hide = true;
    switch (each.by) {
      case remedy::hoist: saved = by.hoist; break;
      case remedy::reserve: saved = by.reserve; break;
      case remedy::recycle: saved = by.recycle; break;
      case remedy::pooled:
        saved = by.pooled;
        may_hide = false;
        break;
      case remedy::arena:
        saved = by.arena;
        may_hide = false;
        break;
      default: break;
    }
    if (saved.overlapping == 0 && saved.surprised == 0) continue;
    each.saved_ns = all(saved);
    // Growth steps and temporaries are surrounded by other work, of which a program has more than of heap work: new
    // programs saved less than the repetition of bare calls showed. This never happened with pooled blocks.
    if (may_hide) {
      const double hidden = std::max(saved.hidden, 0.0) * number(of.sums[counter::blocks]);
      each.saved_ns.low = std::min(each.saved_ns.low, hidden * (1 - std::max(of.error, prediction_error)));
    }
    // The saving may have a wider range than the cost, so that the lower end of one may belong to the upper end of the
    // other.
    each.ns = between(std::max(that.now_ns.low - each.saved_ns.low, 0.0),
                      std::max(that.now_ns.high - each.saved_ns.high, 0.0));
  }
  that.reasons.clear();
  if (!surprises) that.reasons.emplace_back("how much of the calls overlaps with other work was not recorded");
  that.reasons.emplace_back("what a call costs the code around it is not known");
  if (of.error > 0) that.reasons.emplace_back("the counts are those of samples");
}

site_prediction predictor::counted(const site& one, const growth& grown) const {
  site_prediction made;
  const server now = serves(one);
  const auto served = [&](remedy as, server by) { return served_by(as, by, now, one, prices_, grown); };
  made.now_ns = sum_over(one, [&](pattern in, std::size_t size) { return prices_.pair(now, in, size); });
  const range copies = copying(one, prices_, grown);
  made.now_ns += copies;
  made.reasons = reasons_for(one);
  const std::uint64_t blocks = one.sums[counter::blocks];

  if (grown.steps != 0 && one.is != category::kept) {
    const double share = share_of_steps(grown);
    prediction reserve{remedy::reserve, {}, {}, static_cast<std::uint64_t>(std::llround(number(blocks) * share))};
    const range pairs = {made.now_ns.low - copies.low, made.now_ns.high - copies.high};
    reserve.ns = pairs * (1 - share);
    reserve.saved_ns = pairs * share;
    reserve.saved_ns += copies;
    made.remedies.push_back(reserve);
  }
  if (one.is == category::transient) {
    const bool soon = is_short_lived(one);
    if (soon) {
      made.remedies.push_back({remedy::hoist, {}, made.now_ns, blocks});
      prediction recycled = served(remedy::recycle, server::recycled);
      recycled.calls_saved = blocks;
      made.remedies.push_back(recycled);
    }
    made.remedies.push_back(served(remedy::pooled, server::pooled));
    if (soon) made.remedies.push_back(served(remedy::arena, server::arena));
  }
  if (one.is == category::shared) {
    // Threads that wait for each other may spend the saved time sleeping and waking, so only the upper bound is sure.
    for (const auto& [as, by] :
         {std::pair(remedy::shared, server::shared_pool), std::pair(remedy::pooled, server::pooled)}) {
      made.remedies.push_back(served(as, by));
      range& saved = made.remedies.back().saved_ns;
      saved.low = std::min(saved.low, 0.0);
    }
  }
  if (now != server::drop_in) made.remedies.push_back(served(remedy::drop_in, server::drop_in));
  return made;
}

program_costs predictor::of(const heap_findings& all, double measured_cpu_ns) const {
  program_costs made;
  for (const site& each : all.sites) {
    const site_prediction one = of(each);
    made.heap_ns += one.now_ns;
    for (const prediction& by : one.remedies) {
      if (by.by == remedy::drop_in) made.drop_in_saves_ns += by.saved_ns;
    }
    const double frames = number(recording_.sites[each.number].frames.size());
    const double each_ns = is_sampled_ ? prices_.sampler_ns : prices_.recorder_ns + prices_.recorder_frame * frames;
    const double recorder = number(each.sums[counter::blocks]) * each_ns;
    // The price was measured on one stack again and again; many different stacks take longer to find.
    made.recorder_ns += {recorder, 2 * recorder};
  }
  made.wall_ns = number(recording_.end.wall_us) * 1e3;
  const double spent = number(recording_.end.user_us + recording_.end.system_us) * 1e3;
  if (measured_cpu_ns > 0) {
    made.cpu_ns = {measured_cpu_ns, measured_cpu_ns};
  } else if (recording_.ended) {  // otherwise the time is unknown
    // The program takes at least the time of its heap.
    made.cpu_ns.high = std::max(spent - made.recorder_ns.low, made.heap_ns.low);
    made.cpu_ns.low = std::clamp(spent - made.recorder_ns.high, made.heap_ns.low, made.cpu_ns.high);
  }
  return made;
}

}  // namespace tarn::analyse
