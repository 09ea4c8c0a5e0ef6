// Declares the slow path of malloc and its family (malloc.cpp). fast.cpp handles the calls that are not sampled.
#pragma once

#include <cstddef>

#include "profiler/preload/entry.hpp"
#include "profiler/preload/events.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {

// Each acts as the program's function of that name, which jumps to it, and so sees the program as its caller.
[[gnu::noinline]] void* malloc_counted(std::size_t bytes, cost_state cost) noexcept;
[[gnu::noinline]] void free_counted(void* block) noexcept;
[[gnu::noinline]] void* calloc_counted(std::size_t count, std::size_t element_bytes, cost_state cost) noexcept;
[[gnu::noinline]] void* realloc_counted(void* block, std::size_t bytes, cost_state cost) noexcept;
[[gnu::noinline]] int posix_memalign_counted(void** to_block, std::size_t alignment, std::size_t bytes,
                                             cost_state cost) noexcept;
[[gnu::noinline]] void* aligned_alloc_counted(std::size_t alignment, std::size_t bytes, cost_state cost) noexcept;
[[gnu::noinline]] void* memalign_counted(std::size_t alignment, std::size_t bytes, cost_state cost) noexcept;

// Set by everything that counts on the slow path: malloc, free and the operators. It is thread-local, as another
// thread may allocate while this one tries an operator out.
extern constinit thread_local bool was_called;  // NOLINT(bugprone-dynamic-static-initializers): constinit

// Returns true when nothing counts the calling thread's blocks, nor its calls as violations: neither the recording nor
// a quiet region wants them. Ask where current_counts() is null.
[[gnu::noinline]] bool is_heap_ignored_now() noexcept;
[[gnu::always_inline]] inline bool is_heap_ignored() noexcept {
  if (detail::is_heap_off.load(std::memory_order_relaxed)) [[likely]]
    return !is_in_region();
  return is_heap_ignored_now();
}

}  // namespace tarn::preload
