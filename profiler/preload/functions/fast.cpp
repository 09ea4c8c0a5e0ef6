// Handles the calls that are not sampled, at the cost of some instructions on top of the allocator's own. This file
// is compiled without frame pointers and with tail calls, so that malloc_counted sees our caller's registers.
#include "profiler/preload/functions/fast.hpp"

#include <cerrno>

#include "profiler/preload/base/filter.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using namespace tarn::preload;

namespace {

// Returns true when a call goes to the next allocator without being counted.
[[gnu::always_inline]] inline bool is_passed_on() noexcept {
  if (!detail::is_heap_off.load(std::memory_order_relaxed) && (plain_thread != nullptr || current_counts() != nullptr))
    return false;
  if (!is_heap_ignored()) return false;
  was_called = true;
  return true;
}

}  // namespace

extern "C" {

TARN_EXPORT void* malloc(std::size_t bytes) noexcept {
  if (!count_unsampled(bytes)) [[unlikely]] {
    if (!is_passed_on()) return malloc_counted(bytes, current_cost_state());
    take_step();
  }
  return next_allocator.malloc(bytes);
}

TARN_EXPORT void free(void* block) noexcept {
  tarn::format::thread_record* const counts = current_counts();
  if (counts == nullptr || may_have_record(block)) [[unlikely]] {
    if (is_early(block) || !is_passed_on()) return free_counted(block);
  } else {
    add(counts->frees, 1);
  }
  next_allocator.free(block);
}

TARN_EXPORT void* calloc(std::size_t count, std::size_t element_bytes) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes)) [[unlikely]]
    return calloc_counted(count, element_bytes, cost_state::pending);
  if (!count_unsampled(bytes) && !is_passed_on()) [[unlikely]]
    return calloc_counted(count, element_bytes, current_cost_state());
  return next_allocator.calloc(count, element_bytes);
}

TARN_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  // A block that is known, null or early takes the slow path, and so does a size of 0, which frees the block.
  tarn::format::thread_record* const counts = current_counts();
  if (counts == nullptr || may_have_record(block) || bytes == 0) [[unlikely]] {
    if (is_early(block) || !is_passed_on()) return realloc_counted(block, bytes, cost_state::pending);
    return next_allocator.realloc(block, bytes);
  }
  if (!count_unsampled(bytes)) [[unlikely]]
    return realloc_counted(block, bytes, cost_state::subtracted);
  add(counts->frees, 1);
  return next_allocator.realloc(block, bytes);
}

TARN_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t element_bytes) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

TARN_EXPORT int posix_memalign(void** to_block, std::size_t alignment, std::size_t bytes) noexcept {
  if (next_allocator.posix_memalign == nullptr || (!count_unsampled(bytes) && !is_passed_on())) [[unlikely]]
    return posix_memalign_counted(to_block, alignment, bytes, current_cost_state());
  return next_allocator.posix_memalign(to_block, alignment, bytes);
}

TARN_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (next_allocator.aligned_alloc == nullptr || (!count_unsampled(bytes) && !is_passed_on())) [[unlikely]]
    return aligned_alloc_counted(alignment, bytes, current_cost_state());
  return next_allocator.aligned_alloc(alignment, bytes);
}

TARN_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (next_allocator.memalign == nullptr || (!count_unsampled(bytes) && !is_passed_on())) [[unlikely]]
    return memalign_counted(alignment, bytes, current_cost_state());
  return next_allocator.memalign(alignment, bytes);
}

}  // extern "C"
