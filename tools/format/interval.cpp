#include "format/interval.hpp"

#include <algorithm>
#include <utility>

#include "format/reader.hpp"

namespace tarn::format {
namespace {

class collector final : public watcher {
 public:
  explicit collector(const interval& which) : which_(which) {}

  void more(const cell_key_facts& key, const counts& by) override { add(to_.cells, key, by); }
  void more(const call_key& key, const call_counts& by) override { add(to_.calls, key, by); }
  void more(const lock_key& key, const lock_counts& by) override { add(to_.lockings, key, by); }
  void more(const wait_key& key, const wait_counts& by) override { add(to_.waits, key, by); }
  void more(const order_key& key, const order_counts& by) override { add(to_.orders, key, by); }
  void more(const noise_key& key, const noise_counts& by) override { add(to_.noises, key, by); }

  void moment(const recording& so_far) override {
    const moment_facts& now = so_far.moments.back();
    if (now.at_ns <= which_.from_ns) {
      threads_ = so_far.threads;
      begins_ = now;
    }
    if (now.at_ns <= which_.to_ns) {
      to_.threads = so_far.threads;
      ends_ = now;
      if (now.at_ns > which_.from_ns) to_.moments.push_back(now);
    }
    at_ = now.at_ns;
  }

  recording result(const recording& whole) {
    recording made = std::move(to_);
    const std::vector<thread_facts> until = std::move(made.threads);
    made.program = whole.program;
    made.images = whole.images;
    made.modules = whole.modules;
    made.threads = whole.threads;
    made.sites = whole.sites;
    made.locks = whole.locks;
    made.quiet_regions = whole.quiet_regions;
    made.clock = whole.clock;
    made.ended = whole.ended;
    made.end = whole.end;
    made.end.instructions = made.end.surprises = 0;  // known only for the whole run
    made.excerpts = whole.excerpts;                  // they show how the program uses the heap at any time
    made.damage = whole.damage;
    made.part = which_;
    made.end.wall_us = (ends_.at_ns - begins_.at_ns) / 1000;
    made.end.user_us = ends_.user_us - std::min(begins_.user_us, ends_.user_us);
    made.end.system_us = ends_.system_us - std::min(begins_.system_us, ends_.system_us);
    for (std::size_t at = 0; at < made.threads.size(); ++at) {
      static constexpr std::array counted = {&thread_facts::unknown, &thread_facts::forgotten,
                                             &thread_facts::allocations, &thread_facts::frees, &thread_facts::bytes};
      for (const auto each : counted) {
        const std::uint64_t before = at < threads_.size() ? threads_[at].*each : 0;
        const std::uint64_t after = at < until.size() ? until[at].*each : 0;
        made.threads[at].*each = after > before ? after - before : 0;
      }
    }
    for (auto& [key, value] : made.lockings) {
      const lock_counts& all = whole.lockings.at(key);
      const auto bound = [&, &to = value](lock_counter longest, lock_counter sum) {
        if (to[longest] == 0) to[longest] = std::min(all[longest], to[sum]);
      };
      bound(longest_wait, wait_ticks);
      bound(longest_held, held_ticks);
    }
    return made;
  }

 private:
  // Changes come before the moment of their snapshot, so at_ is the moment before.
  template <class Key, class Counts>
  void add(std::map<Key, Counts>& to, const Key& key, const Counts& more) {
    if (at_ < which_.from_ns || at_ >= which_.to_ns) return;
    Counts& sum = to[key];
    for (std::size_t at = 0; at < sum.size(); ++at)
      sum[at] = is_longest(key, at) ? std::max(sum[at], more[at]) : sum[at] + more[at];
  }

  interval which_;
  std::uint64_t at_ = 0;
  std::vector<thread_facts> threads_;
  moment_facts begins_, ends_;
  recording to_;
};

}  // namespace

interval to_moments(const recording& whole, const interval& wanted) {
  interval found{0, whole.moments.back().at_ns};
  for (const moment_facts& each : whole.moments) {
    if (each.at_ns <= wanted.from_ns) found.from_ns = each.at_ns;
  }
  for (auto each = whole.moments.rbegin(); each != whole.moments.rend(); ++each) {
    if (each->at_ns >= wanted.to_ns) found.to_ns = each->at_ns;
  }
  return found;
}

recording within(const recording& whole, std::string_view bytes, const interval& which) {
  collector all(which);
  parse(bytes, &all);
  return all.result(whole);
}

}  // namespace tarn::format
