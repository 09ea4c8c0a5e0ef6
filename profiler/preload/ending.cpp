// Notes how this process ends, for `tarn record`, which is not the parent of a process that it follows. exit() and
// _exit() note it; an end by a signal is not seen.
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "profiler/format/clock.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/live_blocks.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {
namespace {

using leave = void (*)(int);
constinit leave next_exit = nullptr;  // looked up early: a caller of _exit() may not be able to use the loader

std::uint64_t microseconds(const timeval& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

// Waits until tarn record, which started this process, sets the next step. Returns false if tarn record has ended.
bool await_step(format::leak_step step) noexcept {
  constexpr timespec pause{0, 500'000};
  format::region_header& own_header = header();
  // Acquire: this thread then sees everything that tarn record wrote before the step.
  while (own_header.leaks.step.load(std::memory_order_acquire) < step) {
    if (static_cast<std::uint32_t>(raw_call(SYS_getppid)) != own_header.control.recorder.load()) return false;
    raw_call(SYS_nanosleep, &pause, nullptr);
  }
  return own_header.leaks.step.load(std::memory_order_relaxed) == step;
}

template <class Take>
void for_each_block(Take take) noexcept {
  for (const std::atomic<std::uint32_t>& entry : header().heap_mebibytes) {
    if (const std::uint32_t number = entry.load(std::memory_order_relaxed); number != 0)
      live_blocks::for_each(number - 1, take);
  }
}

// Lets tarn record search for blocks that no pointer reaches: it reads this process's memory while no thread of the
// process runs. The list has a mapping of its own, because a stopped thread may hold the recorder's locks.
[[gnu::noinline]] void await_leak_search() noexcept {
  format::leak_search& search = header().leaks;
  if (search.step.load(std::memory_order_relaxed) != format::leak_step::requested) return;
  search.thread.store(static_cast<std::uint32_t>(raw_call(SYS_gettid)), std::memory_order_relaxed);
  search.stack.store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), std::memory_order_relaxed);
  search.step.store(format::leak_step::exiting, std::memory_order_release);
  if (!await_step(format::leak_step::stopped)) return;
  std::size_t count = 0;
  for_each_block([&](std::uintptr_t, std::uint64_t, std::uint32_t) { ++count; });
  const std::size_t bytes = (count + 1) * sizeof(format::listed_block);
  const long list = raw_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (list < 0 && list > -4096) return search.step.store(format::leak_step::finished, std::memory_order_release);
  auto* next = reinterpret_cast<format::listed_block*>(list);
  for_each_block([&](std::uintptr_t address, std::uint64_t size, std::uint32_t site) {
    *next++ = {address, size, site, 0};
  });
  search.list.store(static_cast<std::uint64_t>(list), std::memory_order_relaxed);
  search.blocks.store(count, std::memory_order_relaxed);
  search.granule.store(live_blocks::granule(), std::memory_order_relaxed);
  search.step.store(format::leak_step::listed, std::memory_order_release);
  await_step(format::leak_step::finished);
}

void note(int status, void* = nullptr) noexcept {
  if (!is_attached() || !is_recorded() || is_restricted()) return;
  format::region_header& own_header = header();
  // A child of vfork shares its parent's memory, but has another process number.
  if (own_header.process.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(raw_call(SYS_getpid))) return;
  await_leak_search();
  rusage usage{};
  raw_call(SYS_getrusage, RUSAGE_SELF, &usage);
  own_header.user_us.store(microseconds(usage.ru_utime), std::memory_order_relaxed);
  own_header.system_us.store(microseconds(usage.ru_stime), std::memory_order_relaxed);
  own_header.ended_ns.store(format::monotonic_nanoseconds(), std::memory_order_relaxed);
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
