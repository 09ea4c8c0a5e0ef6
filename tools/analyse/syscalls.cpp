#include "analyse/syscalls.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "analyse/call_names.hpp"

namespace tarn::analyse {
namespace {

using format::call_counter;

constexpr std::uint64_t worth_it = 1000;     // calls, below which no remedy pays for the work
constexpr std::uint64_t few_bytes = 2048;    // below which the call costs more than to move them
constexpr double mostly = 0.9, often = 0.5;  // shares of a site's calls

template <std::size_t Count>
bool is_one_of(std::string_view name, const std::array<std::string_view, Count>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_share(std::uint64_t part, std::uint64_t whole, double share) {
  return whole != 0 && static_cast<double>(part) >= share * static_cast<double>(whole);
}

constexpr auto of_files = std::to_array<std::string_view>(
    {"open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "close", "access", "faccessat"});

bool takes(std::string_view name) {
  return is_one_of(name, std::to_array<std::string_view>({"read", "pread64", "readv", "preadv", "preadv2"}));
}
bool puts(std::string_view name) {
  return is_one_of(name, std::to_array<std::string_view>({"write", "pwrite64", "writev", "pwritev", "pwritev2"}));
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
  if (calls < worth_it) return call_category::needed;
  const std::uint64_t bytes = std::max(of.sums[call_counter::asked], of.sums[call_counter::given]);
  if ((takes(of.name) || puts(of.name) || sends(of.name)) && bytes / calls < few_bytes) return call_category::small;
  if (is_share(of.sums[call_counter::same_arguments], calls, mostly)) return call_category::repeated;
  // What reads less than it asks for has taken all there was.
  const bool takes_all = takes(of.name) && of.sums[call_counter::given] < of.sums[call_counter::asked] / 2;
  if (!takes_all && is_share(of.sums[call_counter::in_a_row], calls, often)) return call_category::batch;
  return call_category::needed;
}

std::string small_remedy(const call_site& of) {
  const std::uint64_t each = of.sums[call_counter::asked] / of.sums[call_counter::calls];
  const std::string bytes = std::to_string(each) + " bytes a call: ";
  if (takes(of.name)) return bytes + "tarn::io::reader, which reads 64 KiB at once and hands out views";
  // Others come in between: each may be an answer that somebody waits for.
  const bool in_between = !is_share(of.sums[call_counter::in_a_row], of.sums[call_counter::calls], often);
  const std::string answers = in_between ? "; an answer that somebody waits for must go at once" : "";
  if (sends(of.name)) return bytes + "gather what belongs together, and send it by one sendmsg" + answers;
  return bytes + "tarn::io::writer, which writes when its buffer is full; for a log, tarn::io::journal" + answers;
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
  return "the answer is mostly the same: ask once and keep it";
}

std::string remedy_for(const call_site& of) {
  if (of.sums[call_counter::calls] < worth_it) return {};
  switch (of.is) {
    case call_category::small: return small_remedy(of);
    case call_category::repeated: return repeated_remedy(of);
    case call_category::batch:
      if (is_one_of(of.name, std::to_array<std::string_view>({"fsync", "fdatasync"}))) {
        return "one after another: tarn::io::journal, whose sync() serves all that was appended before";
      }
      if (takes(of.name) || puts(of.name)) {
        return "one after another: a larger buffer (tarn::io::reader, tarn::io::writer), or tarn::io::mapped_file";
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

call_findings find_calls(const format::recording& in) {
  call_findings all;
  std::map<std::pair<std::uint32_t, std::uint32_t>, call_site> sites;
  for (const auto& [key, value] : in.calls) {
    call_site& to = sites[{key.site, key.number}];
    to.site = key.site;
    to.number = key.number;
    ++to.threads;
    for (std::size_t at = 0; at < value.size(); ++at) to.sums[at] += value[at];
  }
  for (auto& [key, each] : sites) {
    each.name = call_name(each.number);
    each.nanoseconds = format::nanoseconds(in.clock, each.sums[call_counter::call_ticks]);
    each.is = categorise(each);
    each.remedy = remedy_for(each);
    all.calls += each.sums[call_counter::calls];
    all.nanoseconds += each.nanoseconds;
    all.sites.push_back(std::move(each));
  }
  std::stable_sort(all.sites.begin(), all.sites.end(), [](const call_site& a, const call_site& b) {
    return a.sums[call_counter::calls] > b.sums[call_counter::calls];
  });
  return all;
}

}  // namespace tarn::analyse
