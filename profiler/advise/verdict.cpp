#include "profiler/advise/verdict.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "profiler/predict/call_savings.hpp"

namespace tarn::analyse {
namespace {

constexpr double little_share = 0.01;  // of the CPU time, or of the run's time

judgement judged_by(const analysis& analysis, const range& saved_ns) {
  const bool is_little = analysis.knows_cpu_time() && analysis.share(saved_ns).middle() < little_share;
  return is_little ? judgement::little : judgement::worth_doing;
}

verdict verdict_of_heap(analysis& analysis) {
  const first_remedies heap = analysis.all_first_remedies();
  verdict result;
  result.remedies = heap.unpredicted;
  if (heap.count == 0) return result;
  result.remedies = heap.count;
  result.saved_ns = heap.saved_ns;
  result.is_at_least = heap.is_at_least;
  result.judged = judged_by(analysis, heap.saved_ns);
  return result;
}

// Returns how many threads waited for the contended locks that have a remedy.
std::size_t waiters_of(analysis& analysis) {
  const lock_findings& locks = analysis.locks();
  const auto counts = [](const lock_group& group) {
    return !group.remedy.empty() && group.category == lock_category::contended;
  };
  std::set<std::uint32_t> threads;
  for (const auto& [key, value] : analysis.recording().waits) {
    const lock_group* const group = locks.group_of(analysis.recording(), key.lock);
    if (group != nullptr && counts(*group)) threads.insert(key.thread);
  }
  for (const lock_group& group : locks.groups) {
    if (!counts(group)) continue;
    for (const unfinished_wait& wait : group.still_waiting) threads.insert(wait.thread);
  }
  return threads.size();
}

// A wake-up takes 5 us of CPU time where 100 threads are woken at once, most of it in the kernel; this is a low bound.
constexpr double min_wakeup_ns = 1000;

verdict verdict_of_locks(analysis& analysis) {
  verdict result;
  result.source = judged_source::locks;
  std::size_t others = 0;
  std::uint64_t longest = 0;
  for (const lock_group& group : analysis.locks().groups) {
    if (group.remedy.empty()) continue;
    if (group.category == lock_category::condition) {
      ++result.remedies;
      result.idle_wakeups += group.idle_wakeups;
      if (!group.sites.empty()) result.idle_site = group.sites.front().site;
      continue;
    }
    if (group.category != lock_category::contended) {
      ++others;
      continue;
    }
    ++result.remedies;
    result.still_waiting += group.still_waiting.size();
    for (const unfinished_wait& wait : group.still_waiting) result.in_deadlock += wait.is_deadlock ? 1 : 0;
    const std::uint64_t waited_ns = group.sums[format::wait_ticks];
    const std::uint64_t held_ns = held_wait_ns(group);
    result.waited_ns += waited_ns;
    result.held_ns += held_ns;
    if (held_ns <= longest || group.sites.empty()) continue;
    longest = held_ns;
    result.site = group.sites.front().site;
  }
  if (result.remedies != 0) {
    result.waiters = waiters_of(analysis);
    const double wall_ns = analysis.whole().wall_ns;
    const bool is_idle = as_double(result.idle_wakeups) * min_wakeup_ns >= little_share * analysis.whole().cpu_ns.high;
    const bool is_little =
        result.in_deadlock == 0 && !is_idle && wall_ns > 0 && as_double(result.held_ns) < little_share * wall_ns;
    result.judged = is_little ? judgement::little : judgement::worth_doing;
  } else {
    result.remedies = others;
  }
  return result;
}

verdict verdict_of_calls(analysis& analysis) {
  verdict result;
  result.source = judged_source::calls;
  std::size_t unpredicted = 0;
  for (const call_site& site : analysis.calls().sites) {
    if (site.remedy.empty()) continue;
    const call_saving saving = saving_of(site, analysis.recording(), analysis.costs());
    if (!saving.not_predicted.empty()) {
      ++unpredicted;
      continue;
    }
    ++result.remedies;
    result.saved_ns += saving.ns;
    result.is_at_least = result.is_at_least || saving.saves_more;
  }
  if (result.remedies != 0) {
    result.judged = judged_by(analysis, result.saved_ns);
  } else {
    result.remedies = unpredicted;
  }
  return result;
}

// Returns the expected gain. A remedy of a lock saves between none and all of the wait for its holders, so half of it
// is expected.
double gain_of(const verdict& verdict) { return verdict.saved_ns.middle() + as_double(verdict.held_ns) / 2; }

}  // namespace

const char* name(judged_source source) {
  switch (source) {
    case judged_source::heap: return "heap";
    case judged_source::locks: return "locks";
    case judged_source::calls: return "system calls";
  }
  return "";
}

const char* name(judgement judgement) {
  switch (judgement) {
    case judgement::worth_doing: return "worth doing";
    case judgement::unpredicted: return "worth a look";
    case judgement::little: return "little to gain";
  }
  return "";
}

std::vector<verdict> verdicts_of(analysis& analysis) {
  std::vector<verdict> verdicts = {verdict_of_heap(analysis), verdict_of_locks(analysis), verdict_of_calls(analysis)};
  // Waits for locks have a time of their own.
  std::erase_if(verdicts, [&](const verdict& verdict) {
    return verdict.remedies == 0 || (analysis.whole().is_too_short && verdict.source != judged_source::locks);
  });
  std::stable_sort(verdicts.begin(), verdicts.end(), [](const verdict& a, const verdict& b) {
    return std::make_tuple(a.judged, -gain_of(a)) < std::make_tuple(b.judged, -gain_of(b));
  });
  return verdicts;
}

}  // namespace tarn::analyse
