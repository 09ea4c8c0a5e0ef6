// Counts malloc and its family with their call stacks. The calls come from the program, or from fast.cpp.
#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "profiler/preload/events.hpp"
#include "profiler/preload/functions/fast.hpp"
#include "profiler/preload/heap_searches.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using namespace tarn::preload;

namespace {

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}
void* early_or_nothing(std::size_t bytes, std::size_t alignment) noexcept {
  void* const block = early_allocate(bytes, alignment);
  return block != nullptr ? block : no_memory();
}

// Counts a new block whose contents are not specified.
void count_unwritten_allocation(void* block, std::size_t bytes, const caller& caller, cost_state cost) noexcept {
  mark_unwritten(block, 0, bytes);
  count_allocation(block, bytes, caller, cost);
}

// Moves an early block to the next allocator, or to another early block while that allocator is unknown.
void* resize_early(const void* block, std::size_t bytes, const caller& caller) noexcept {
  const allocator* const allocator = next();
  void* const new_block =
      allocator == nullptr ? early_or_nothing(bytes, alignof(std::max_align_t)) : allocator->malloc(bytes);
  if (new_block == nullptr) return nullptr;
  const std::size_t left = early_left(block);
  std::memcpy(new_block, block, bytes < left ? bytes : left);
  if (allocator != nullptr) count_allocation(new_block, bytes, caller, cost_state::pending);
  return new_block;
}

}  // namespace

namespace tarn::preload {

constinit thread_local bool was_called = false;

bool is_heap_ignored_now() noexcept {
  return is_attached() && ((header().sources & format::source_bit(format::heap_kind)) == 0 || !is_recorded()) &&
         !is_in_region();
}

void* malloc_counted(std::size_t bytes, cost_state cost) noexcept {
  was_called = true;
  const allocator* const allocator = next();
  if (allocator == nullptr) [[unlikely]]
    return early_or_nothing(bytes, alignof(std::max_align_t));
  take_step();
  void* const block = allocator->malloc(bytes);
  count_unwritten_allocation(block, bytes, TARN_CALLER(), cost);
  return block;
}

void free_counted(void* block) noexcept {
  was_called = true;
  if (block == nullptr || is_early(block)) return;
  const allocator* const allocator = next();
  if (allocator == nullptr) return;
  if (is_in_region()) [[unlikely]]
    count_heap_violation(TARN_CALLER());
  count_free(block, TARN_CALLER());
  allocator->free(block);
}

void* calloc_counted(std::size_t count, std::size_t element_bytes, cost_state cost) noexcept {
  was_called = true;
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes)) return no_memory();
  const allocator* const allocator = next();
  if (allocator == nullptr) [[unlikely]]
    return early_or_nothing(bytes, alignof(std::max_align_t));  // early memory is zeroed
  void* const block = allocator->calloc(count, element_bytes);
  count_allocation(block, bytes, TARN_CALLER(), cost);
  return block;
}

void* realloc_counted(void* block, std::size_t bytes, cost_state cost) noexcept {
  was_called = true;
  if (block == nullptr) {
    const allocator* const allocator = next();
    if (allocator == nullptr) [[unlikely]]
      return early_or_nothing(bytes, alignof(std::max_align_t));
    void* const new_block = allocator->realloc(block, bytes);
    count_unwritten_allocation(new_block, bytes, TARN_CALLER(), cost);
    return new_block;
  }
  if (is_early(block)) [[unlikely]]
    return resize_early(block, bytes, TARN_CALLER());
  const allocator* const allocator = next();
  if (allocator == nullptr) return no_memory();
  if (bytes == 0) {  // the realloc of glibc and of the drop-in frees then
    count_free(block, TARN_CALLER());
    return allocator->realloc(block, bytes);
  }
  const std::size_t old_bytes = allocator->malloc_usable_size == nullptr ? bytes : allocator->malloc_usable_size(block);
  const allocation_record record = begin_resize(block);
  void* const new_block = allocator->realloc(block, bytes);
  if (record.weight != 0) mark_unwritten(new_block, record.bytes, bytes);
  finish_resize(record, block, new_block, old_bytes, bytes, TARN_CALLER(), cost);
  return new_block;
}

int posix_memalign_counted(void** to_block, std::size_t alignment, std::size_t bytes, cost_state cost) noexcept {
  was_called = true;
  const allocator* const allocator = next();
  if (allocator == nullptr || allocator->posix_memalign == nullptr) return ENOMEM;
  const int result = allocator->posix_memalign(to_block, alignment, bytes);
  count_unwritten_allocation(result == 0 ? *to_block : nullptr, bytes, TARN_CALLER(), cost);
  return result;
}

void* aligned_alloc_counted(std::size_t alignment, std::size_t bytes, cost_state cost) noexcept {
  was_called = true;
  const allocator* const allocator = next();
  if (allocator == nullptr || allocator->aligned_alloc == nullptr) return early_or_nothing(bytes, alignment);
  void* const block = allocator->aligned_alloc(alignment, bytes);
  count_unwritten_allocation(block, bytes, TARN_CALLER(), cost);
  return block;
}

void* memalign_counted(std::size_t alignment, std::size_t bytes, cost_state cost) noexcept {
  was_called = true;
  const allocator* const allocator = next();
  if (allocator == nullptr || allocator->memalign == nullptr) return early_or_nothing(bytes, alignment);
  void* const block = allocator->memalign(alignment, bytes);
  count_unwritten_allocation(block, bytes, TARN_CALLER(), cost);
  return block;
}

}  // namespace tarn::preload

extern "C" {

TARN_EXPORT void* valloc(std::size_t bytes) noexcept {
  const allocator* const allocator = next();
  if (allocator == nullptr || allocator->valloc == nullptr) return no_memory();
  void* const block = allocator->valloc(bytes);
  count_unwritten_allocation(block, bytes, TARN_CALLER(), cost_state::pending);
  return block;
}

TARN_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const allocator* const allocator = next();
  if (allocator == nullptr || allocator->pvalloc == nullptr) return no_memory();
  void* const block = allocator->pvalloc(bytes);
  count_unwritten_allocation(block, bytes, TARN_CALLER(), cost_state::pending);
  return block;
}

TARN_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  if (block == nullptr) return 0;
  if (is_early(block)) return 0;
  const allocator* const allocator = next();
  return allocator == nullptr || allocator->malloc_usable_size == nullptr ? 0 : allocator->malloc_usable_size(block);
}

}  // extern "C"
