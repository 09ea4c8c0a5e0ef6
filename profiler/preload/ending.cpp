// Notes how this process ends, for `tarn record`, which is not the parent of a process that it follows. exit() and
// _exit() note it; an end by a signal is not seen.
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/heap_searches.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {
namespace {

using leave = void (*)(int);
constinit leave next_exit = nullptr;  // looked up early: a caller of _exit() may not be able to use the loader

std::uint64_t microseconds(const timeval& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

void note(int status, void* = nullptr) noexcept {
  if (!is_attached() || !is_recorded() || is_restricted()) return;
  format::region_header& own_header = header();
  // A child of vfork shares its parent's memory, but has another process number.
  if (own_header.process.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(raw_call(SYS_getpid))) return;
  const std::int64_t contents_from = own_header.contents_from.load(std::memory_order_relaxed);
  await_contents_search(contents_from - contents_from / 9 + 1);  // if more is in use than at the search before
  await_search(header().leaks);
  rusage usage{};
  raw_call(SYS_getrusage, RUSAGE_SELF, &usage);
  own_header.user_us.store(microseconds(usage.ru_utime), std::memory_order_relaxed);
  own_header.system_us.store(microseconds(usage.ru_stime), std::memory_order_relaxed);
  own_header.peak_resident_bytes.store(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024, std::memory_order_relaxed);
  own_header.ended_ns.store(clock_nanoseconds(), std::memory_order_relaxed);
  own_header.status.store(static_cast<std::uint32_t>(status) & 0xff, std::memory_order_relaxed);
  own_header.has_ended.store(1, std::memory_order_release);  // release: a reader that sees it sees the other fields
}

// Registers as early as possible, because the handler that is registered first runs last. Children of a fork inherit
// it.
[[gnu::constructor(103)]] void watch() noexcept {
  next_exit = reinterpret_cast<leave>(next_function("_exit"));
  ::on_exit(note, nullptr);
}

}  // namespace
}  // namespace tarn::preload

extern "C" {
__attribute__((visibility("default"))) void _exit(int status) {
  tarn::preload::note(status);
  if (tarn::preload::next_exit != nullptr) tarn::preload::next_exit(status);
  tarn::preload::raw_call(SYS_exit_group, status);
  __builtin_trap();
}
__attribute__((visibility("default"))) void _Exit(int status) noexcept { _exit(status); }
}
