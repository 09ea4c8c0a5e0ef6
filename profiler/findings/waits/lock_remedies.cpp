#include "profiler/findings/waits/lock_remedies.hpp"

#include <algorithm>

#include "profiler/base/quantity_text.hpp"
#include "profiler/findings/heap/share.hpp"

namespace tarn::analyse {
namespace {

using format::lock_type;

// Locks with fewer acquisitions and no waits get no suggestion.
constexpr std::uint64_t acquisitions_worth_it = 100'000;

// Describes a presumed use of a lock, and the remedy if the presumption holds.
std::string presumed_remedy(const read_mostly_use& use) {
  return "held " + command::duration_text(use.read_ns) + " by most, and " + std::to_string(use.replacements) + " time" +
         (use.replacements == 1 ? "" : "s") + " for " + command::duration_text(use.replacement_ns) +
         " by another function" + (use.allocates_memory ? ", which allocates" : "") +
         ": if it is only read elsewhere, tarn::reloadable<T>, whose readers take no lock; if not, ";
}

// For data that threads change under a lock which they hold shortly and take often.
constexpr const char* parts_remedy =
    "let each thread fill a part of its own, and merge the parts under the lock at the end, or divide the data by key "
    "into parts with a lock each";

bool has_deadlock(const lock_group& group) {
  return std::any_of(group.still_waiting.begin(), group.still_waiting.end(),
                     [](const unfinished_wait& wait) { return wait.is_deadlock; });
}

std::string foreign_remedy(const lock_group& group) {
  const std::string prefix = "inside " + group.library + ", ";
  if (group.category == lock_category::contended)
    return prefix + "which threads call at once: an instance for each thread, or fewer calls";
  if (group.category == lock_category::one_thread)
    return prefix + "called by one thread alone: its mode without locks, if it has one";
  return {};
}

// Threads that are all woken for what one of them can do.
std::string herd_remedy(const lock_group& group) {
  constexpr std::uint64_t min_wakeups = 1000;
  constexpr std::uint32_t min_threads = 3;  // two that take turns may do so under one lock
  const std::uint64_t wakeups = group.sums[format::acquisitions], idle = group.idle_wakeups;
  if (group.type != lock_type::condition || group.threads < min_threads || idle < min_wakeups || idle < wakeups / 4 * 3)
    return {};
  return "after " + command::group_digits(idle) + " of " + command::group_digits(wakeups) +
         " wake-ups the thread waited again at once: where one thread can do the work, notify_one "
         "(pthread_cond_signal); where threads wait for different things, a condition variable for each";
}

}  // namespace

std::string contended_remedy(const lock_group& group) {
  if (group.read_mostly && group.read_mostly->is_known) {
    return "mostly read: tarn::reloadable<T>, whose readers take no lock";
  }
  if (group.read_mostly) return presumed_remedy(*group.read_mostly) + parts_remedy;
  if (has_deadlock(group))
    return "a deadlock: take the locks in one order everywhere; or both at once: tarn::with(a, b, …), std::scoped_lock";
  if (group.sums[format::holds] + group.still_held == 0)
    return "how long it is held was not seen: it was acquired before the recording, in another process or between two "
           "samples (a start with --full records all)";
  if (group.is_held_elsewhere) {
    return std::string("another process had it meanwhile, or a thread that was not recorded") +
           (group.is_process_shared ? " (it is declared to be one of several processes)" : "") +
           ": record that, too, and do less while it is held there";
  }
  const std::uint64_t mean_ns = mean_hold(group);
  std::string prefix = "held " + command::duration_text(mean_ns) + " on average";
  if (group.typical_hold_ns > 2 * mean_ns)
    prefix += ", most of that time for about " + command::duration_text(group.typical_hold_ns) + " at once";
  prefix += ": ";
  if (!group.calls_inside.empty()) {
    const std::string& call = group.calls_inside.front().name;
    return prefix + "call " + call + " without it" +
           (call == "fsync" || call == "fdatasync" ? ", once for several threads (tarn::io::journal)" : "");
  }
  if (is_held_long(group)) {
    return prefix + "do less while it is held; what is only read: tarn::reloadable<T>";
  }
  // A short hold makes others wait long only where its thread was stopped in the middle of it. With samples, the hold
  // may be one that was not timed.
  constexpr std::uint64_t few_waits = 10, long_wait = 100;
  if (const std::uint64_t waits = group.sums[format::contended];
      waits <= few_waits && group.sums[format::wait_ticks] > waits * long_wait * mean_hold(group)) {
    const std::uint64_t longest_hold = group.sums[format::longest_held];
    if (longest_hold * 2 >= group.sums[format::longest_wait])
      return "held " + command::duration_text(longest_hold) + " at most: do less while it is held then";
    const bool has_seen_all = group.error == 0 && group.sums[format::holds] >= group.sums[format::acquisitions];
    return prefix +
           (has_seen_all ? "each wait was much longer, so its holder was interrupted"
                         : "each wait was much longer, so its holder was interrupted or held it for "
                           "longer, unseen") +
           "; fewer acquisitions make that rarer";
  }
  return prefix + parts_remedy;
}

std::string remedy_for(const lock_group& group, std::uint64_t wall_ns) {
  if (group.category == lock_category::condition) return group.library.empty() ? herd_remedy(group) : "";
  constexpr std::uint64_t by_chance = 10;           // up to this many waits do not count if they took hardly any time
  constexpr std::uint64_t min_wait_ns = 1'000'000;  // a run of some milliseconds makes any wait a large share
  const bool is_waited_for =
      has_deadlock(group) || (group.category == lock_category::contended &&
                              (group.sums[format::contended] > by_chance ||
                               (group.sums[format::wait_ticks] >= min_wait_ns &&
                                is_share(group.sums[format::wait_ticks], wall_ns, negligible_share))));
  if (group.sums[format::acquisitions] < acquisitions_worth_it && !is_waited_for) return {};
  if (!group.library.empty()) return foreign_remedy(group);
  switch (group.category) {
    case lock_category::contended: return contended_remedy(group);
    case lock_category::one_thread:
      return std::string("one thread alone ") + (group.error == 0 ? "takes it" : "was seen to take it") +
             ": tarn::transient<T> or tarn::thread_checked<T> instead of a lock";
    case lock_category::uncontended:
      if (group.read_mostly && !group.read_mostly->is_known) {
        return presumed_remedy(*group.read_mostly) + "tarn::spin_mutex, which costs less";
      }
      if (group.type == lock_type::mutex && !group.is_process_shared && mean_hold(group) < 1000) {
        return "hardly ever waited for, and held shortly: tarn::spin_mutex is smaller and costs less";
      }
      return {};
    case lock_category::condition: return {};
  }
  return {};
}

}  // namespace tarn::analyse
