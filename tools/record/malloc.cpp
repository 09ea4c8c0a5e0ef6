// Counts malloc and its family with their call stacks. The calls come from the program, or from fast.cpp.
#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "record/events.hpp"
#include "record/fast.hpp"
#include "record/next.hpp"
#include "record/quiet.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using namespace tarn::record;

namespace {

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}
void* early_or_nothing(std::size_t bytes, std::size_t alignment) noexcept {
  void* const block = early_allocate(bytes, alignment);
  return block != nullptr ? block : no_memory();
}

// Moves an early block to the next allocator, or to another early block while that allocator is unknown.
void* resize_early(const void* block, std::size_t bytes, const caller& from) noexcept {
  const allocator* const to = next();
  void* const made = to == nullptr ? early_or_nothing(bytes, alignof(std::max_align_t)) : to->malloc(bytes);
  if (made == nullptr) return nullptr;
  const std::size_t left = early_left(block);
  std::memcpy(made, block, bytes < left ? bytes : left);
  if (to != nullptr) allocated(made, bytes, from, charged::no);
  return made;
}

}  // namespace

namespace tarn::record {

constinit thread_local bool was_called = false;

void* malloc_counted(std::size_t bytes, charged how) noexcept {
  was_called = true;
  const allocator* const to = next();
  if (to == nullptr) [[unlikely]]
    return early_or_nothing(bytes, alignof(std::max_align_t));
  void* const block = to->malloc(bytes);
  allocated(block, bytes, TARN_CALLER(), how);
  return block;
}

void free_counted(void* block) noexcept {
  was_called = true;
  if (block == nullptr || is_early(block)) return;
  const allocator* const to = next();
  if (to == nullptr) return;
  if (is_in_region()) [[unlikely]]
    hear_heap(TARN_CALLER());
  freed(block);
  to->free(block);
}

void* calloc_counted(std::size_t count, std::size_t each, charged how) noexcept {
  was_called = true;
  std::size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) return no_memory();
  const allocator* const to = next();
  if (to == nullptr) [[unlikely]]
    return early_or_nothing(bytes, alignof(std::max_align_t));  // early memory is zeroed
  void* const block = to->calloc(count, each);
  allocated(block, bytes, TARN_CALLER(), how);
  return block;
}

void* realloc_counted(void* block, std::size_t bytes, charged how) noexcept {
  was_called = true;
  if (block == nullptr) {
    const allocator* const to = next();
    if (to == nullptr) [[unlikely]]
      return early_or_nothing(bytes, alignof(std::max_align_t));
    void* const made = to->realloc(block, bytes);
    allocated(made, bytes, TARN_CALLER(), how);
    return made;
  }
  if (is_early(block)) [[unlikely]]
    return resize_early(block, bytes, TARN_CALLER());
  const allocator* const to = next();
  if (to == nullptr) return no_memory();
  if (bytes == 0) {  // the realloc of glibc and of the drop-in frees then
    freed(block);
    return to->realloc(block, bytes);
  }
  const std::size_t old_bytes = to->malloc_usable_size == nullptr ? bytes : to->malloc_usable_size(block);
  const birth born = before_resize(block);
  void* const made = to->realloc(block, bytes);
  after_resize(born, block, made, old_bytes, bytes, TARN_CALLER(), how);
  return made;
}

int posix_memalign_counted(void** to_block, std::size_t alignment, std::size_t bytes, charged how) noexcept {
  was_called = true;
  const allocator* const to = next();
  if (to == nullptr || to->posix_memalign == nullptr) return ENOMEM;
  const int result = to->posix_memalign(to_block, alignment, bytes);
  if (result == 0) allocated(*to_block, bytes, TARN_CALLER(), how);
  return result;
}

void* aligned_alloc_counted(std::size_t alignment, std::size_t bytes, charged how) noexcept {
  was_called = true;
  const allocator* const to = next();
  if (to == nullptr || to->aligned_alloc == nullptr) return early_or_nothing(bytes, alignment);
  void* const block = to->aligned_alloc(alignment, bytes);
  allocated(block, bytes, TARN_CALLER(), how);
  return block;
}

void* memalign_counted(std::size_t alignment, std::size_t bytes, charged how) noexcept {
  was_called = true;
  const allocator* const to = next();
  if (to == nullptr || to->memalign == nullptr) return early_or_nothing(bytes, alignment);
  void* const block = to->memalign(alignment, bytes);
  allocated(block, bytes, TARN_CALLER(), how);
  return block;
}

}  // namespace tarn::record

extern "C" {

TARN_EXPORT void* valloc(std::size_t bytes) noexcept {
  const allocator* const to = next();
  if (to == nullptr || to->valloc == nullptr) return no_memory();
  void* const block = to->valloc(bytes);
  allocated(block, bytes, TARN_CALLER(), charged::no);
  return block;
}

TARN_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const allocator* const to = next();
  if (to == nullptr || to->pvalloc == nullptr) return no_memory();
  void* const block = to->pvalloc(bytes);
  allocated(block, bytes, TARN_CALLER(), charged::no);
  return block;
}

TARN_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  if (block == nullptr) return 0;
  if (is_early(block)) return 0;
  const allocator* const to = next();
  return to == nullptr || to->malloc_usable_size == nullptr ? 0 : to->malloc_usable_size(block);
}

}  // extern "C"
