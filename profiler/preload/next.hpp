// Finds the allocator that the program would have used without us: the next one in the loader's order.
#pragma once

#include <atomic>
#include <cstddef>

namespace tarn::preload {

struct allocator {
  void* (*malloc)(std::size_t);
  void (*free)(void*);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit says that they are not
// Callers must know that next() was not null once.
extern constinit allocator next_allocator;
extern constinit std::atomic<bool> has_next_allocator;
// NOLINTEND(bugprone-dynamic-static-initializers)

// Returns null while the names are being looked up, by this thread or another: the loader itself may allocate then.
// early_allocate() serves such calls.
const allocator* look_for_next() noexcept;
inline const allocator* next() noexcept {
  return has_next_allocator.load(std::memory_order_acquire) ? &next_allocator : look_for_next();
}

// Returns the function called `name` behind ours, or null. Not every program has all of the C++ operators, for
// example.
void* next_function(const char* name) noexcept;
// Returns the function that the program would call by that name without this library, or null.
void* program_function(const char* name) noexcept;

// Returns memory from a small pool for those first calls, or null when the pool is used up. It is never given back.
void* early_allocate(std::size_t bytes, std::size_t alignment) noexcept;
bool is_early(const void* block) noexcept;
// Early blocks begin at few addresses, so that free can know them. early_block() returns null after the last one.
constexpr std::size_t early_step = 256;
const void* early_block(std::size_t number) noexcept;
std::size_t early_left(const void* block) noexcept;  // the bytes from there that may be read

}  // namespace tarn::preload
