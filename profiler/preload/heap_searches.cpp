#include "profiler/preload/heap_searches.hpp"

#include <sys/mman.h>
#include <time.h>

#include <limits>

#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/live_blocks.hpp"

namespace tarn::preload {
namespace {

// Waits until tarn record, which started this process, sets the next step. Returns false if tarn record has ended.
bool await_step(format::heap_search& search, format::search_step step) noexcept {
  constexpr timespec pause{0, 500'000};
  // Acquire: this thread then sees everything that tarn record wrote before the step.
  while (search.step.load(std::memory_order_acquire) < step) {
    if (static_cast<std::uint32_t>(raw_call(SYS_getppid)) != header().control.recorder.load()) return false;
    raw_call(SYS_nanosleep, &pause, nullptr);
  }
  return search.step.load(std::memory_order_relaxed) == step;
}

template <class Take>
void for_each_block(Take take) noexcept {
  for (const std::atomic<std::uint32_t>& entry : header().heap_mebibytes) {
    if (const std::uint32_t number = entry.load(std::memory_order_relaxed); number != 0)
      live_blocks::for_each(number - 1, take);
  }
}

}  // namespace

// The list has a mapping of its own, because a stopped thread may hold the recorder's locks.
[[gnu::noinline]] void await_search(format::heap_search& search) noexcept {
  format::search_step requested = format::search_step::requested;
  if (search.step.load(std::memory_order_relaxed) != requested) return;
  search.thread.store(static_cast<std::uint32_t>(raw_call(SYS_gettid)), std::memory_order_relaxed);
  search.stack.store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), std::memory_order_relaxed);
  // Release: tarn record reads the thread. Only one thread waits.
  if (!search.step.compare_exchange_strong(requested, format::search_step::waiting, std::memory_order_release)) return;
  if (!await_step(search, format::search_step::stopped)) return;
  std::size_t count = 0;
  for_each_block([&](std::uintptr_t, std::uint64_t, std::uint32_t) { ++count; });
  const std::size_t bytes = (count + 1) * sizeof(format::listed_block);
  const long list = raw_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (list < 0 && list > -4096) return search.step.store(format::search_step::finished, std::memory_order_release);
  auto* next = reinterpret_cast<format::listed_block*>(list);
  for_each_block([&](std::uintptr_t address, std::uint64_t size, std::uint32_t site) {
    *next++ = {address, size, site, 0};
  });
  search.list.store(static_cast<std::uint64_t>(list), std::memory_order_relaxed);
  search.blocks.store(count, std::memory_order_relaxed);
  search.granule.store(live_blocks::granule(), std::memory_order_relaxed);
  search.step.store(format::search_step::listed, std::memory_order_release);
  await_step(search, format::search_step::finished);
  raw_call(SYS_munmap, list, bytes);
}

[[gnu::noinline]] void await_contents_search(std::int64_t min_bytes) noexcept {
  format::region_header& own_header = header();
  format::heap_search& search = own_header.contents;
  if (search.step.load(std::memory_order_relaxed) != format::search_step::requested ||
      own_header.bytes_in_use.load(std::memory_order_relaxed) < min_bytes || is_restricted())
    return;
  await_search(search);
  format::search_step finished = format::search_step::finished;
  // A search that did not finish is the last one: tarn record has ended, or there is no memory.
  if (search.step.load(std::memory_order_relaxed) != finished)
    own_header.contents_from.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
  search.step.compare_exchange_strong(finished, format::search_step::requested, std::memory_order_relaxed);
}

}  // namespace tarn::preload
