#include "analyse/syscalls.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyse/call_names.hpp"
#include "analyse/share.hpp"
#include "analyse/stacks.hpp"

namespace tarn::analyse {
namespace {

using format::call_counter;

constexpr std::uint64_t calls_worth_it = 1000;  // sites with fewer calls get no suggestion
constexpr std::uint64_t few_bytes = 2048;       // for fewer bytes the call costs more than the copy
constexpr double often = 0.5;                   // share of a site's calls
constexpr double least_share = 0.005;           // share of the processor time
constexpr double way_ns = 100;                  // entering and leaving the kernel; not in a call's time

template <std::size_t Count>
bool is_one_of(std::string_view name, const std::array<std::string_view, Count>& all) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

constexpr auto of_files = std::to_array<std::string_view>(
    {"open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "close", "access", "faccessat"});

// Returns whether the call sets signals, which programs set and restore with the same few values around each piece of
// work.
bool sets_signals(std::string_view name) {
  return is_one_of(name, std::to_array<std::string_view>({"rt_sigaction", "rt_sigprocmask", "sigaltstack"}));
}

bool sends(std::string_view name) { return is_one_of(name, std::to_array<std::string_view>({"sendto", "sendmsg"})); }

call_category categorise(const call_site& of) {
  const std::uint64_t calls = of.sums[call_counter::calls];
  if (is_one_of(of.name, std::to_array<std::string_view>({"brk", "mmap", "munmap", "mremap", "madvise", "mprotect"}))) {
    return call_category::memory;
  }
  if (is_one_of(of.name, std::to_array<std::string_view>({"futex", "poll", "ppoll", "select", "pselect6", "epoll_wait",
                                                          "epoll_pwait", "epoll_pwait2", "nanosleep", "clock_nanosleep",
                                                          "sched_yield", "wait4", "waitid", "pause", "rt_sigsuspend",
                                                          "rt_sigtimedwait", "accept", "accept4"}))) {
    return call_category::waits;
  }
  if (calls < calls_worth_it) return call_category::needed;
  const std::uint64_t bytes = std::max(of.sums[call_counter::asked], of.sums[call_counter::given]);
  // A send after another call, such as the read of a request, is an answer that somebody waits for.
  const bool sends_on = sends(of.name) && is_share(of.sums[call_counter::in_a_row], calls, often);
  if ((is_reading(of.name) || is_writing(of.name) || sends_on) && bytes / calls < few_bytes)
    return call_category::small;
  if (sets_signals(of.name)) return call_category::repeated;
  if (is_share(of.sums[call_counter::same_arguments], calls, mostly)) return call_category::repeated;
  // A read that returns less than it asked for has taken all that was there.
  const bool takes_all = is_reading(of.name) && of.sums[call_counter::given] < of.sums[call_counter::asked] / 2;
  if (!takes_all && is_share(of.sums[call_counter::in_a_row], calls, often)) return call_category::batch;
  return call_category::needed;
}

std::string small_remedy(const call_site& of) {
  const std::uint64_t each = of.sums[call_counter::asked] / of.sums[call_counter::calls];
  const std::string bytes = std::to_string(each) + " bytes a call: ";
  if (is_reading(of.name)) return bytes + "tarn::io::reader, which reads 64 KiB at once and hands out views";
  if (sends(of.name)) return bytes + "gather what belongs together, and send it by one sendmsg";
  return bytes + "tarn::io::writer, or tarn::io::journal for a log; of answers, those that are ready together";
}

std::string repeated_remedy(const call_site& of) {
  if (is_one_of(of.name, std::to_array<std::string_view>({"open", "openat"}))) {
    return "the same file is opened again and again: keep it open, or its content in tarn::reloadable<T>";
  }
  if (is_one_of(of.name, std::to_array<std::string_view>({"stat", "lstat", "newfstatat", "statx", "access", "faccessat",
                                                          "readlink", "readlinkat", "statfs"}))) {
    return "the same path is asked for again and again: tarn::io::memo, or tarn::reloadable<T> with a time to look";
  }
  if (is_one_of(of.name, std::to_array<std::string_view>({"clock_gettime", "gettimeofday"}))) {
    return "the clock is read by system call: this machine's clock source has no faster way; read it once a round";
  }
  if (sets_signals(of.name)) return "signals are set again and again: once around all of the work";
  return "the answer is mostly the same: ask once and keep it";
}

std::string remedy_for(const call_site& of, const std::string& library) {
  if (of.sums[call_counter::calls] < calls_worth_it) return {};
  const bool is_own =
      of.is == call_category::small || of.is == call_category::repeated || of.is == call_category::batch;
  if (is_own && !library.empty()) {
    return "inside " + library + ": ask it for more at once, or for a larger buffer or cache, if it has such a setting";
  }
  switch (of.is) {
    case call_category::small: return small_remedy(of);
    case call_category::repeated: return repeated_remedy(of);
    case call_category::batch:
      if (is_one_of(of.name, std::to_array<std::string_view>({"fsync", "fdatasync"}))) {
        return "one after another: tarn::io::journal, whose sync() serves all that was appended before";
      }
      if (is_reading(of.name) || is_writing(of.name)) {
        return "one after another: a larger buffer (tarn::io::reader, tarn::io::writer), or tarn::io::mapped_file";
      }
      if (is_one_of(of.name, std::to_array<std::string_view>({"readlink", "readlinkat"}))) {
        return "realpath() of many files: that of their folder once, or tarn::io::memo";
      }
      if (is_one_of(of.name, of_files)) return "many files one after another: tarn::io::batch asks for all at once";
      return "one after another: make them together where there is a call for it";
    case call_category::memory:
      return of.name == "mprotect" ? "" : "tarn run: heaps that keep memory for a while; or reserve what grows";
    case call_category::waits:
      if (of.name == "sched_yield") return "a loop that waits: tarn::spin_mutex, or a condition variable";
      return {};
    case call_category::needed: return {};
  }
  return {};
}

}  // namespace

const char* name(call_category of) {
  switch (of) {
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

call_findings find_calls(const format::recording& in) {
  struct collected {
    call_site sums;
    std::set<std::uint32_t> threads;
    std::map<std::uint32_t, std::uint64_t> calls;  // by site
  };
  call_findings all;
  own_code own(in);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint64_t>>, collected> places;
  for (const auto& [key, value] : in.calls) {
    std::vector<std::uint64_t> frames = own.inner_frames(key.site);
    if (frames.empty()) frames.push_back(key.site);  // the site of all calls beyond the recorder's limit
    collected& to = places[{key.number, in.sites[key.site].image, std::move(frames)}];
    to.sums.number = key.number;
    to.threads.insert(key.thread);
    to.calls[key.site] += value[call_counter::calls];
    for (std::size_t at = 0; at < value.size(); ++at) to.sums.sums[at] += value[at];
  }
  // The share is one of the processor time: a waiting server or a busy machine does not make calls cheap.
  const std::uint64_t time_ns = in.ended ? (in.end.user_us + in.end.system_us) * 1000 : in.clock.nanoseconds;
  std::vector<collected*> order;
  for (auto& [key, of] : places) {
    call_site& each = of.sums;
    const auto most = std::max_element(of.calls.begin(), of.calls.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    each.site = most->first;
    each.stacks = static_cast<std::uint32_t>(of.calls.size());
    each.threads = static_cast<std::uint32_t>(of.threads.size());
    each.name = call_name(each.number);
    each.nanoseconds = format::nanoseconds(in.clock, each.sums[call_counter::call_ticks]);
    each.is = categorise(each);
    const double spent =
        static_cast<double>(each.nanoseconds) + way_ns * static_cast<double>(each.sums[call_counter::calls]);
    if (spent >= least_share * static_cast<double>(time_ns))
      each.remedy = remedy_for(each, own.installed_library(each.site));
    all.calls += each.sums[call_counter::calls];
    all.nanoseconds += each.nanoseconds;
    order.push_back(&of);
  }
  std::stable_sort(order.begin(), order.end(), [](const collected* a, const collected* b) {
    return a->sums.sums[call_counter::calls] > b->sums.sums[call_counter::calls];
  });
  for (collected* const each : order) {
    for (const auto& [site, count] : each->calls) all.places[{site, each->sums.number}] = all.sites.size();
    all.sites.push_back(std::move(each->sums));
  }
  return all;
}

}  // namespace tarn::analyse
