#include "profiler/advise/wait_for.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "profiler/findings/time/sampled_shares.hpp"
#include "profiler/findings/waits/awaited_locks.hpp"
#include "profiler/findings/waits/call_names.hpp"
#include "profiler/findings/waits/stacks.hpp"
#include "profiler/format/recorder_library.hpp"

namespace tarn::analyse {
namespace {

constexpr std::size_t max_links = 8;
constexpr double min_work_share = 0.05;  // of the waits; less is not listed

// Locks of one type with the same site of first use count as one, as in lock_findings.
using lock_kind = std::tuple<std::uint32_t, format::lock_type, std::uint32_t>;

class follower {
 public:
  follower(const format::recording& recording, const lane_findings& lanes, const resolve_function& resolve)
      : recording_(recording), awaited_(recording), resolve_(resolve), ends_ns_(lanes.ends_ns) {
    for (const lane& lane : lanes.lanes) lanes_[lane.thread] = &lane;
  }

  std::vector<wait_for_chain> chains(std::uint64_t min_ns) {
    std::map<std::tuple<lock_kind, std::uint32_t, std::uint32_t>, wait_for_link> first;
    for (const auto& [key, counts] : recording_.waits) {
      if (awaited_.has(key.lock)) continue;
      wait_for_link& link = first[{kind_of(key.lock), key.site, key.holder_site}];
      add(link, key, counts[format::waits], ns(counts[format::waited_ticks]));
    }
    std::vector<wait_for_chain> result;
    for (auto& [key, link] : first) {
      if (link.ns < min_ns) continue;
      wait_for_chain chain;
      chain.links.push_back(std::move(link));
      follow(chain);
      result.push_back(std::move(chain));
    }
    std::vector<wait_for_chain> whole;
    for (const wait_for_chain& chain : result) {
      const bool is_end =
          std::any_of(result.begin(), result.end(), [&](const auto& longer) { return ends_in(longer, chain); });
      if (!is_end) whole.push_back(chain);
    }
    std::stable_sort(whole.begin(), whole.end(),
                     [](const auto& a, const auto& b) { return a.links.front().ns > b.links.front().ns; });
    return whole;
  }

 private:
  std::uint64_t ns(std::uint64_t ticks) const { return format::nanoseconds(recording_.clock, ticks); }
  lock_kind kind_of(std::uint32_t lock) const {
    const format::lock_facts& facts = recording_.locks[lock];
    return {facts.image, facts.type, facts.site};
  }
  // Returns whether a longer chain has most of the waits of this one.
  bool ends_in(const wait_for_chain& longer, const wait_for_chain& chain) const {
    constexpr double min_share = 0.8;
    const wait_for_link& first = chain.links.front();
    return std::any_of(longer.links.begin() + 1, longer.links.end(), [&](const wait_for_link& link) {
      return kind_of(link.lock) == kind_of(first.lock) && link.site == first.site &&
             link.holder_site == first.holder_site &&
             static_cast<double>(link.ns) > min_share * static_cast<double>(first.ns);
    });
  }
  static void add(wait_for_link& link, const format::wait_key& key, std::uint64_t waits, std::uint64_t ns) {
    link.lock = key.lock;
    link.site = key.site;
    link.holder_site = key.holder_site;
    link.threads.insert(key.thread);
    link.holders.insert(key.holder);
    link.waits += waits;
    link.ns += ns;
  }

  void set_held(wait_for_link& link) const {
    for (const auto& [key, counts] : recording_.acquisitions) {
      if (key.site == link.holder_site && link.holders.contains(key.thread) && kind_of(key.lock) == kind_of(link.lock))
        link.held_ns += ns(counts[format::held_ticks]);
      if (key.site == link.site && link.threads.contains(key.thread) && kind_of(key.lock) == kind_of(link.lock))
        link.longest_ns = std::max(link.longest_ns, ns(counts[format::longest_wait]));
    }
  }

  // Goes on while the holders mostly wait for another lock.
  void follow(wait_for_chain& chain) const {
    while (true) {
      set_held(chain.links.back());
      const wait_for_link& last = chain.links.back();
      std::vector<held_work> work = ends_ns_.empty() ? std::vector<held_work>() : work_meanwhile(last);
      const bool has_time = !work.empty();
      const bool waits_for_lock = has_time && work.front().state == lane_state::lock;
      std::erase_if(work, [](const held_work& sum) { return sum.state == lane_state::lock; });
      if (!has_time) work = work_in_all_holds(last);
      std::optional<wait_for_link> next;
      if (waits_for_lock || !has_time) next = next_of(last, has_time || work.empty() ? 0 : work.front().ns);
      const bool is_circle = next && std::any_of(chain.links.begin(), chain.links.end(), [&](const auto& link) {
                               return kind_of(link.lock) == kind_of(next->lock) && link.site == next->site;
                             });
      if (!next || is_circle || chain.links.size() == max_links) {
        chain.work = std::move(work);
        return;
      }
      chain.links.push_back(std::move(*next));
    }
  }

  // Returns the lock for which the holders of a link waited longest while they held its lock, if they did nothing else
  // for longer.
  std::optional<wait_for_link> next_of(const wait_for_link& link, std::uint64_t min_ns) const {
    std::map<std::tuple<lock_kind, std::uint32_t>, std::uint64_t> times;
    for (const auto& [key, counts] : recording_.orders) {
      if (key.lock != 0 && !awaited_.has(key.lock) && key.held_site == link.holder_site &&
          link.holders.contains(key.thread) && kind_of(key.held_lock) == kind_of(link.lock))
        times[{kind_of(key.lock), key.site}] += ns(counts[format::order_ticks]);
    }
    const auto longest =
        std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (longest == times.end() || longest->second == 0 || part_of_waits(link, longest->second) < min_ns)
      return std::nullopt;
    const auto& [lock, site] = longest->first;
    std::map<std::uint32_t, wait_for_link> by_holder;  // by the holders' site
    for (const auto& [key, counts] : recording_.waits) {
      if (key.site == site && link.holders.contains(key.thread) && kind_of(key.lock) == lock)
        add(by_holder[key.holder_site], key, counts[format::waits], ns(counts[format::waited_ticks]));
    }
    const auto main = std::max_element(by_holder.begin(), by_holder.end(),
                                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
    if (main == by_holder.end()) return std::nullopt;
    main->second.ns = std::min(main->second.ns, longest->second);
    return main->second;
  }

  std::vector<code_location> stack_of(std::uint32_t site) const {
    std::vector<code_location> stack;
    for (const std::uint64_t frame : recording_.sites[site].frames) {
      for (code_location& location : resolve_(recording_.sites[site].image, frame)) {
        if (!format::is_recorder_library(location.module)) stack.push_back(std::move(location));
      }
    }
    return stack;
  }

  // Returns the part of a link's waits that corresponds to a part of the holds.
  static std::uint64_t part_of_waits(const wait_for_link& link, std::uint64_t part_ns) {
    const double share = static_cast<double>(part_ns) / static_cast<double>(std::max(link.held_ns, part_ns));
    return static_cast<std::uint64_t>(share * static_cast<double>(link.ns));
  }

  // Adds up work by state, call and location.
  class work_sums {
   public:
    void add(const wait_kind& kind, const std::vector<code_location>& stack, std::uint32_t site, std::uint64_t ns) {
      if (ns == 0) return;
      const code_location location = stack.empty() ? code_location() : stack[own_frame_index(stack)];
      sums_[{kind, location}][site] += ns;
    }
    // Returns the longest first.
    std::vector<held_work> take(std::uint64_t whole_ns) const {
      std::vector<held_work> work;
      for (const auto& [key, sites] : sums_) {
        held_work& sum = work.emplace_back();
        sum.state = key.kind.state;
        sum.call = key.kind.call;
        std::uint64_t longest_ns = 0;
        for (const auto& [site, ns] : sites) {
          sum.ns += ns;
          if (ns >= longest_ns) std::tie(longest_ns, sum.site) = std::tie(ns, site);
        }
      }
      std::erase_if(work, [&](const held_work& sum) {
        return static_cast<double>(sum.ns) < min_work_share * static_cast<double>(whole_ns);
      });
      std::stable_sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
      return work;
    }

   private:
    struct work_key {
      wait_kind kind;
      code_location location;

      auto parts() const {
        return std::tie(kind.state, kind.call, location.module, location.file, location.function, location.line);
      }
      bool operator<(const work_key& other_key) const { return parts() < other_key.parts(); }
    };
    std::map<work_key, std::map<std::uint32_t, std::uint64_t>> sums_;  // by site
  };

  using waits_by_holder = std::map<std::uint32_t, std::map<std::uint32_t, double>>;  // then by interval

  // Returns what the holders did in the intervals in which the threads of a link waited for them.
  std::vector<held_work> work_meanwhile(const wait_for_link& link) const {
    waits_by_holder waits;
    double sum = 0;
    for (const std::uint32_t thread : link.threads) {
      const auto waiting = lanes_.find(thread);
      if (waiting == lanes_.end()) continue;
      for (const lane_part& part : waiting->second->parts) {
        if (part.state != lane_state::lock || !part.holder || !link.holders.contains(*part.holder)) continue;
        for (const auto& [interval, ns] : part.intervals) {
          waits[*part.holder][interval] += static_cast<double>(ns);
          sum += static_cast<double>(ns);
        }
      }
    }
    // The lanes may have other waits for these holders, too.
    for (auto& [holder, waited] : waits) {
      for (auto& [interval, ns] : waited) ns *= static_cast<double>(link.ns) / sum;
    }
    constexpr std::uint64_t intervals_of_long_wait = 3;
    const bool has_long_waits =
        link.waits != 0 && link.ns / link.waits > intervals_of_long_wait * (ends_ns_.back() / ends_ns_.size());
    acquiring_functions functions(recording_, {link.holder_site}, resolve_);
    std::vector<held_work> work = overlap(link, waits, &functions);
    return work.empty() && has_long_waits ? overlap(link, waits, nullptr) : work;
  }

  // Divides the waits of each interval by what the holder did in it, below `functions` or anywhere.
  std::vector<held_work> overlap(const wait_for_link& link, const waits_by_holder& waits,
                                 acquiring_functions* functions) const {
    work_sums sums;
    for (const auto& [holder, waited] : waits) {
      const auto holding = lanes_.find(holder);
      if (holding == lanes_.end()) continue;
      const double running_share = functions == nullptr ? 1 : share_of_samples(holder, *functions);
      std::map<std::uint32_t, std::vector<std::pair<const lane_part*, double>>> parts_by_interval;
      for (const lane_part& part : holding->second->parts) {
        const bool has_run = part.state == lane_state::running || part.state == lane_state::runnable;
        const bool is_inside = functions == nullptr || (part.site != 0 && functions->has_later(part.site));
        const double share = has_run ? running_share : is_inside ? 1 : 0;
        for (const auto& [interval, ns] : part.intervals) {
          if (share > 0 && waited.contains(interval))
            parts_by_interval[interval].emplace_back(&part, share * static_cast<double>(ns));
        }
      }
      for (const auto& [interval, parts] : parts_by_interval) {
        double sum = 0;
        for (const auto& [part, ns] : parts) sum += ns;
        for (const auto& [part, ns] : parts) {
          const double amount = waited.at(interval) * ns / sum;
          sums.add({part->state, part->call}, part->site == 0 ? std::vector<code_location>() : stack_of(part->site),
                   part->site, static_cast<std::uint64_t>(amount));
        }
      }
    }
    return sums.take(link.ns);
  }

  // Returns which part of a thread's samples is below these functions.
  double share_of_samples(std::uint32_t thread, acquiring_functions& functions) const {
    std::uint64_t later_samples = 0, samples = 0;
    for (const auto& [key, counts] : recording_.cpu.cells) {
      if (key.thread != thread) continue;
      samples += counts[format::cpu_samples];
      if (key.site != 0 && functions.has_later(key.site)) later_samples += counts[format::cpu_samples];
    }
    return samples == 0 ? 0 : static_cast<double>(later_samples) / static_cast<double>(samples);
  }

  // Returns what the holders of a link did below the function that acquired its lock, without waits for other locks.
  std::vector<held_work> work_in_all_holds(const wait_for_link& link) const {
    acquiring_functions functions(recording_, {link.holder_site}, resolve_);
    work_sums sums;
    const auto add_work = [&](const wait_kind& kind, std::uint32_t site, std::uint64_t held_ns) {
      if (kind.state != lane_state::lock && kind.state != lane_state::unknown)
        sums.add(kind, stack_of(site), site, part_of_waits(link, held_ns));
    };
    const sampled_shares shares(recording_);
    for (const auto& [key, counts] : recording_.cpu.cells) {
      if (key.site == 0 || !link.holders.contains(key.thread) || !functions.has_later(key.site)) continue;
      if (counts[format::waiting_ns] != 0)
        add_work(wait_kind_of(stack_of(key.site)), key.site, counts[format::waiting_ns]);
      add_work({lane_state::running, ""}, key.site, shares.ns_of(key.thread, counts[format::cpu_samples]));
    }
    if (recording_.cpu.cells.empty()) {
      for (const auto& [key, counts] : recording_.calls) {
        const std::string call = call_name(key.number);
        if (call == "futex" || !link.holders.contains(key.thread) || !functions.has_later(key.site)) continue;
        add_work(kind_of_call(call), key.site, ns(counts[format::call_ticks]));
      }
    }
    return sums.take(link.ns);
  }

  static wait_kind kind_of_call(const std::string& call) {
    code_location location;
    location.function = call;
    location.module = "/lib/libc.so.6";
    const wait_kind kind = wait_kind_of({location});
    return {kind.state, call};
  }

  const format::recording& recording_;
  awaited_locks awaited_;
  const resolve_function& resolve_;
  const std::vector<std::uint64_t>& ends_ns_;
  std::map<std::uint32_t, const lane*> lanes_;  // by thread
};

}  // namespace

std::vector<wait_for_chain> find_wait_for(const format::recording& recording, const lane_findings& lanes,
                                          const resolve_function& resolve, std::uint64_t min_ns) {
  return follower(recording, lanes, resolve).chains(min_ns);
}

}  // namespace tarn::analyse
