#include "profiler/findings/waits/system_calls.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "profiler/findings/heap/share.hpp"
#include "profiler/findings/heap/thread_count.hpp"
#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/findings/waits/call_names.hpp"
#include "profiler/findings/waits/stacks.hpp"

namespace tarn::analyse {
namespace {

using format::call_counter;

constexpr std::uint64_t calls_worth_it = 1000;  // sites with fewer calls get no suggestion
constexpr std::uint64_t few_bytes = 2048;       // for fewer bytes the call costs more than the copy
constexpr double often = 0.5;                   // share of a site's calls
constexpr double min_share = 0.005;             // share of the CPU time
constexpr double way_ns = 100;                  // entering and leaving the kernel; not in a call's time

template <std::size_t Count>
bool is_one_of(std::string_view name, const std::array<std::string_view, Count>& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

constexpr auto of_files = std::to_array<std::string_view>(
    {"open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "close", "access", "faccessat"});

// Returns whether the call sets signals, which programs set and restore with the same few values around each piece of
// work.
bool sets_signals(std::string_view name) {
  return is_one_of(name, std::to_array<std::string_view>({"rt_sigaction", "rt_sigprocmask", "sigaltstack"}));
}

bool sends(std::string_view name) { return is_one_of(name, std::to_array<std::string_view>({"sendto", "sendmsg"})); }

// Returns whether the site receives data, and waits for most of the time until there is some. What is there already, or
// a call that does not block, takes no longer than the given times.
bool waits_for_data(const call_site& site) {
  constexpr double call_ns = 10'000, byte_ns = 1;
  if (!is_one_of(site.name,
                 std::to_array<std::string_view>({"recvfrom", "recvmsg", "recvmmsg", "semop", "semtimedop"})))
    return false;
  return static_cast<double>(site.nanoseconds) >
         call_ns * static_cast<double>(site.sums[call_counter::calls]) +
             byte_ns * static_cast<double>(site.sums[call_counter::returned_bytes]);
}

call_category categorise(const call_site& site) {
  const std::uint64_t calls = site.sums[call_counter::calls];
  if (is_one_of(site.name,
                std::to_array<std::string_view>({"brk", "mmap", "munmap", "mremap", "madvise", "mprotect"}))) {
    return call_category::memory;
  }
  if (is_one_of(site.name, std::to_array<std::string_view>(
                               {"futex",           "poll",          "ppoll",        "select",     "pselect6",
                                "epoll_wait",      "epoll_pwait",   "epoll_pwait2", "nanosleep",  "clock_nanosleep",
                                "sched_yield",     "wait4",         "waitid",       "pause",      "rt_sigsuspend",
                                "rt_sigtimedwait", "accept",        "accept4",      "msgrcv",     "mq_timedreceive",
                                "io_getevents",    "io_pgetevents", "futex_wait",   "futex_waitv"})) ||
      waits_for_data(site)) {
    return call_category::waits;
  }
  if (calls < calls_worth_it) return call_category::needed;
  const std::uint64_t bytes =
      std::max(site.sums[call_counter::requested_bytes], site.sums[call_counter::returned_bytes]);
  // A send after another call, such as the read of a request, is an answer that somebody waits for.
  const bool sends_on = sends(site.name) && is_share(site.sums[call_counter::in_a_row], calls, often);
  if ((is_reading(site.name) || is_writing(site.name) || sends_on) && bytes / calls < few_bytes)
    return call_category::small;
  if (sets_signals(site.name)) return call_category::repeated;
  if (is_share(site.sums[call_counter::same_arguments], calls, mostly)) return call_category::repeated;
  // A read that returns fewer bytes than requested has read all available data.
  const bool takes_all =
      is_reading(site.name) && site.sums[call_counter::returned_bytes] < site.sums[call_counter::requested_bytes] / 2;
  if (!takes_all && is_share(site.sums[call_counter::in_a_row], calls, often)) return call_category::batch;
  return call_category::needed;
}

std::uint64_t round_count(double count) {
  constexpr double limit = 1e18;  // a larger value comes from a broken file
  return static_cast<std::uint64_t>(std::llround(std::clamp(count, 0.0, limit)));
}

// The error of counts that are sums of estimates. Those of one thread are not independent, as they come from the same
// blocks (profiler/preload/windows.hpp), and the sum of their deviations is the largest that theirs can be. Different
// threads are independent.
class sum_error {
 public:
  void add(std::uint32_t thread, const format::call_counts& counts) {
    if (counts[call_counter::call_spread] != 0)
      deviation_of_[thread] += std::sqrt(static_cast<double>(counts[call_counter::call_spread]));
  }
  double variance() const {
    double sum = 0;
    for (const auto& [thread, deviation] : deviation_of_) sum += deviation * deviation;
    return sum;
  }

 private:
  std::map<std::uint32_t, double> deviation_of_;
};

// Returns how many of the cell's calls one block stands for; 0 if all were counted.
double block_of(const format::call_counts& value) {
  return static_cast<double>(value[call_counter::call_spread]) /
         static_cast<double>(std::max<std::uint64_t>(value[call_counter::calls], 1));
}

// The calls that read, or those that write: the kernel counts both for each process.
struct call_family {
  bool (*has)(std::string_view name);
  std::uint64_t exact;  // 0 if it is not known
  std::uint64_t calls = 0;
  sum_error error = {};
  double largest_block = 0;  // calls that a window which was missed may stand for

  // Returns true if the estimates agree with the kernel's count.
  bool is_reconciled() const { return exact != 0 && error.variance() != 0 && calls == exact; }
  // Returns the variance of a part of the calls. A share of an exact whole varies as this part and the rest do, each
  // against the other; and sites without a call in a window may have one block of the whole.
  double variance_of(std::uint64_t part_calls, double part_variance) const {
    const double share = static_cast<double>(part_calls) / static_cast<double>(std::max<std::uint64_t>(calls, 1));
    return std::max(part_variance * (1 - 2 * share) + share * share * error.variance(), 0.0) +
           largest_block * largest_block;
  }
};

// Returns whether the kernel's counts of reads and writes are those of this process's calls of these names. Each call
// that copies from file to file counts as both, and so do all calls of children that were waited for.
bool has_exact_counts(const format::recording& recording) {
  if (!recording.has_ended || recording.part != format::interval{}) return false;
  if (recording.unrecorded.forks != 0 || !recording.unrecorded.programs.empty()) return false;
  return std::none_of(recording.calls.begin(), recording.calls.end(), [](const auto& call) {
    return is_one_of(call_name(call.first.number),
                     std::to_array<std::string_view>({"sendfile", "copy_file_range", "wait4", "waitid"}));
  });
}

std::array<call_family, 2> families_of(const format::recording& recording) {
  const bool is_whole = has_exact_counts(recording);
  std::array<call_family, 2> families = {call_family{is_reading, is_whole ? recording.end.reads : 0},
                                         call_family{is_writing, is_whole ? recording.end.writes : 0}};
  for (const auto& [key, value] : recording.calls) {
    const std::string name = call_name(key.number);
    for (call_family& family : families) {
      if (!family.has(name)) continue;
      family.calls += value[call_counter::calls];
      family.error.add(key.thread, value);
      family.largest_block = std::max(family.largest_block, block_of(value));
    }
  }
  return families;
}

std::string small_remedy(const call_site& site) {
  const std::uint64_t mean_bytes = site.sums[call_counter::requested_bytes] / site.sums[call_counter::calls];
  const std::string bytes = std::to_string(mean_bytes) + " bytes a call: ";
  if (is_reading(site.name)) return bytes + "tarn::io::reader, which reads 64 KiB at once and hands out views";
  if (sends(site.name)) return bytes + "gather what belongs together, and send it by one sendmsg";
  return bytes +
         "tarn::io::writer, or tarn::io::journal for a log; write what is ready at the same time with one writev";
}

std::string repeated_remedy(const call_site& site) {
  if (is_one_of(site.name, std::to_array<std::string_view>({"open", "openat"}))) {
    return "the same file is opened again and again: keep it open, or its content in tarn::reloadable<T>";
  }
  if (is_one_of(site.name, std::to_array<std::string_view>({"stat", "lstat", "newfstatat", "statx", "access",
                                                            "faccessat", "readlink", "readlinkat", "statfs"}))) {
    return "the same path is asked for again and again: tarn::io::memo, or tarn::reloadable<T> with a time to look";
  }
  if (is_one_of(site.name, std::to_array<std::string_view>({"clock_gettime", "gettimeofday"}))) {
    return "the clock is read by system call: this machine's clock source has no faster way; read it once a round";
  }
  if (sets_signals(site.name)) return "signals are set again and again: once around all of the work";
  return "the answer is mostly the same: ask once and keep it";
}

std::string remedy_for(const call_site& site, const std::string& library) {
  if (site.sums[call_counter::calls] < calls_worth_it) return {};
  const bool is_own = site.category == call_category::small || site.category == call_category::repeated ||
                      site.category == call_category::batch;
  if (is_own && !library.empty()) {
    return "inside " + library + ": ask it for more at once, or for a larger buffer or cache, if it has such a setting";
  }
  switch (site.category) {
    case call_category::small: return small_remedy(site);
    case call_category::repeated: return repeated_remedy(site);
    case call_category::batch:
      if (is_one_of(site.name, std::to_array<std::string_view>({"fsync", "fdatasync"}))) {
        return "one after another: tarn::io::journal, whose sync() serves all that was appended before";
      }
      if (is_reading(site.name) || is_writing(site.name)) {
        return "one after another: a larger buffer (tarn::io::reader, tarn::io::writer), or tarn::io::mapped_file";
      }
      if (is_one_of(site.name, std::to_array<std::string_view>({"readlink", "readlinkat"}))) {
        return "realpath() of many files: that of their folder once, or tarn::io::memo";
      }
      if (is_one_of(site.name, of_files)) return "many files one after another: tarn::io::batch asks for all at once";
      return "one after another: make them together where there is a call for it";
    case call_category::memory:
      return site.name == "mprotect" ? ""
                                     : "if the heap calls it: tarn run, whose heaps keep memory for a while, or "
                                       "reserve what grows; if threads begin and end: keep them";
    case call_category::waits:
      if (site.name == "sched_yield") return "a loop that waits: tarn::spin_mutex, or a condition variable";
      return {};
    case call_category::needed: return {};
  }
  return {};
}

}  // namespace

const char* name(call_category category) {
  switch (category) {
    case call_category::small: return "small";
    case call_category::repeated: return "repeated";
    case call_category::batch: return "batch";
    case call_category::memory: return "memory";
    case call_category::waits: return "waits";
    case call_category::needed: return "needed";
  }
  return "";
}

bool is_reading(std::string_view name) {
  return is_one_of(name, std::to_array<std::string_view>({"read", "pread64", "readv", "preadv", "preadv2"}));
}
bool is_writing(std::string_view name) {
  return is_one_of(name, std::to_array<std::string_view>({"write", "pwrite64", "writev", "pwritev", "pwritev2"}));
}

namespace {

bool is_estimate(const format::call_counts& value) { return value[call_counter::call_spread] != 0; }

// Limits the time in the kernel of each thread to the duration of the run. A sum of samples may be larger, because one
// long wait in a window stands for those outside of windows. Times that were measured for all calls stay unchanged.
void bound_times(format::recording& recording) {
  const auto run_ns =
      static_cast<double>(recording.has_ended ? recording.end.wall_us * 1000 : recording.clock.nanoseconds);
  struct thread_time {
    double measured_ns = 0, estimated_ns = 0;
  };
  std::map<std::uint32_t, thread_time> times;
  for (const auto& [key, value] : recording.calls) {
    thread_time& time = times[key.thread];
    (is_estimate(value) ? time.estimated_ns : time.measured_ns) +=
        static_cast<double>(format::nanoseconds(recording.clock, value[call_counter::call_ticks]));
  }
  for (auto& [key, value] : recording.calls) {
    const auto& [measured_ns, estimated_ns] = times[key.thread];
    if (run_ns == 0 || measured_ns + estimated_ns <= run_ns) continue;
    const double factor = measured_ns > run_ns ? run_ns / (measured_ns + estimated_ns)
                          : is_estimate(value) ? (run_ns - measured_ns) / estimated_ns
                                               : 1;
    value[call_counter::call_ticks] = round_count(static_cast<double>(value[call_counter::call_ticks]) * factor);
  }
}

// Returns the variance of the calls outside of all windows, in a sampled recording: that of one more block like the
// largest. A thread that makes other calls for a short time may make all of them between two windows.
double unseen_variance(const format::recording& recording) {
  double largest_block = 0;
  for (const auto& [key, value] : recording.calls) largest_block = std::max(largest_block, block_of(value));
  return largest_block * largest_block;
}

}  // namespace

format::recording reconcile_calls(format::recording recording) {
  for (const call_family& family : families_of(recording)) {
    const double estimate = static_cast<double>(family.calls), variance = family.error.variance();
    constexpr double max_deviations = 5;  // a larger difference is not by chance: not all calls were recorded
    if (family.exact == 0 || variance == 0 ||
        std::fabs(static_cast<double>(family.exact) - estimate) > max_deviations * std::sqrt(variance)) {
      continue;
    }
    const double factor = static_cast<double>(family.exact) / estimate;
    double sum_before = 0;
    std::uint64_t sum = 0;
    for (auto& [key, value] : recording.calls) {
      if (!family.has(call_name(key.number)) || value[call_counter::calls] == 0) continue;
      // The sum is rounded, not the cells: many threads with few calls each would all be rounded alike.
      const auto calls_before = static_cast<double>(value[call_counter::calls]);
      sum_before += calls_before;
      const std::uint64_t calls = round_count(sum_before * factor) - sum;
      sum += calls;
      const double factor_of_cell = static_cast<double>(calls) / calls_before;
      for (std::uint64_t& count : value) count = round_count(static_cast<double>(count) * factor_of_cell);
      value[call_counter::call_spread] =
          round_count(static_cast<double>(value[call_counter::call_spread]) * factor_of_cell);
    }
  }
  bound_times(recording);
  return recording;
}

void advise_threads(call_findings& findings, const format::recording& recording, symbols& symbols) {
  constexpr auto functions = std::to_array<std::string_view>({"pthread_create", "start_thread", "clone"});
  const auto begins_thread = [&](const code_location& location) {
    return is_runtime_module(location.module) &&
           std::any_of(functions.begin(), functions.end(), [&](std::string_view function) {
             return location.function.find(function) != std::string::npos;
           });
  };
  // std::counting_semaphore, std::barrier and std::latch give up the processor some times before they wait.
  const auto waits_in_library = [](const code_location& location) {
    return location.file.ends_with("bits/atomic_wait.h") ||
           location.function.find("__atomic_spin") != std::string::npos;
  };
  for (call_site& site : findings.sites) {
    const bool gives_up_processor = site.name == "sched_yield";
    if (site.remedy.empty() || (!gives_up_processor && !sets_signals(site.name))) continue;
    const std::vector<code_location> stack = stack_at(recording, site.site, symbols);
    if (gives_up_processor) {
      if (std::any_of(stack.begin(), stack.end(), waits_in_library)) site.remedy.clear();
      continue;
    }
    const auto own_frame = std::find_if_not(stack.begin(), stack.end(),
                                            [](const code_location& location) { return is_runtime_code(location); });
    if (std::any_of(stack.begin(), own_frame, begins_thread))
      site.remedy = "threads begin and end again and again: start them once, and reuse them";
  }
}

call_findings find_calls(const format::recording& recording) {
  struct collected {
    call_site sums;
    std::set<std::uint32_t> threads;
    std::map<std::uint32_t, std::uint64_t> calls;  // by site
    sum_error error;
  };
  call_findings findings;
  sum_error error;
  own_code own_frames(recording);
  const std::array<call_family, 2> families = families_of(recording);
  // Returns the family of a call whose sum is exact, or null.
  const auto exact_family = [&](const std::string& call) {
    const auto match = std::find_if(families.begin(), families.end(), [&](const call_family& family) {
      return family.has(call) && family.is_reconciled();
    });
    return match == families.end() ? nullptr : &*match;
  };
  std::set<std::uint32_t> sampled_threads;
  for (const auto& [key, value] : recording.calls) {
    if (is_estimate(value)) sampled_threads.insert(key.thread);
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint64_t>>, collected> groups;
  for (const auto& [key, value] : recording.calls) {
    std::vector<std::uint64_t> frames = own_frames.inner_frames(key.site);
    if (frames.empty()) frames.push_back(key.site);  // the site of all calls beyond the recorder's limit
    // A long call is counted by a function of the recorder, whose stack has no frame of the C library.
    if (!own_frames.is_runtime_code(recording.sites[key.site].image, frames.back()))
      frames.erase(frames.begin(), frames.end() - 1);
    collected& group = groups[{key.number, recording.sites[key.site].image, std::move(frames)}];
    group.sums.number = key.number;
    group.threads.insert(key.thread);
    group.calls[key.site] += value[call_counter::calls];
    for (std::size_t index = 0; index < value.size(); ++index) group.sums.sums[index] += value[index];
    group.error.add(key.thread, value);
    if (exact_family(call_name(key.number)) == nullptr) error.add(key.thread, value);
  }
  // The share is one of the CPU time: a waiting server or a busy machine does not make calls cheap.
  const std::uint64_t time_ns =
      recording.has_ended ? (recording.end.user_us + recording.end.system_us) * 1000 : recording.clock.nanoseconds;
  std::vector<collected*> order;
  for (auto& [key, group] : groups) {
    call_site& site = group.sums;
    const auto most_frequent = std::max_element(group.calls.begin(), group.calls.end(),
                                                [](const auto& a, const auto& b) { return a.second < b.second; });
    site.site = most_frequent->first;
    site.stacks = static_cast<std::uint32_t>(group.calls.size());
    const thread_count count = count_threads(recording, group.threads);
    site.threads = count.threads;
    site.may_have_more_threads = count.may_be_more;
    site.name = call_name(site.number);
    site.nanoseconds = format::nanoseconds(recording.clock, site.sums[call_counter::call_ticks]);
    const std::uint64_t calls = site.sums[call_counter::calls];
    const call_family* const family = exact_family(site.name);
    site.error = relative_error(
        family == nullptr ? group.error.variance() : family->variance_of(calls, group.error.variance()), calls);
    site.is_lower_bound = site.error == 0 && family == nullptr &&
                          std::any_of(group.threads.begin(), group.threads.end(),
                                      [&](std::uint32_t thread) { return sampled_threads.contains(thread); });
    site.category = categorise(site);
    const double spent =
        static_cast<double>(site.nanoseconds) + way_ns * static_cast<double>(site.sums[call_counter::calls]);
    if (spent >= min_share * static_cast<double>(time_ns))
      site.remedy = remedy_for(site, own_frames.installed_library(site.site));
    findings.calls += site.sums[call_counter::calls];
    findings.nanoseconds += site.nanoseconds;
    order.push_back(&group);
  }
  findings.error = relative_error(error.variance() + unseen_variance(recording), findings.calls);
  std::stable_sort(order.begin(), order.end(), [](const collected* a, const collected* b) {
    return a->sums.sums[call_counter::calls] > b->sums.sums[call_counter::calls];
  });
  for (collected* const group : order) {
    for (const auto& [site, count] : group->calls)
      findings.index_by_site[{site, group->sums.number}] = findings.sites.size();
    findings.sites.push_back(std::move(group->sums));
  }
  for (const auto& [key, since] : recording.open_calls) {
    const std::uint64_t ticks = recording.clock.ticks - std::min(since, recording.clock.ticks);
    findings.unfinished.push_back(
        {key.site, key.thread, call_name(key.number), format::nanoseconds(recording.clock, ticks)});
  }
  std::stable_sort(findings.unfinished.begin(), findings.unfinished.end(),
                   [](const auto& a, const auto& b) { return a.nanoseconds > b.nanoseconds; });
  return findings;
}

}  // namespace tarn::analyse
