// malloc and free, inline for every name they have.
//
//   allocate    class table, local, top, top[-1], test, store          → ret
//   deallocate  page map, local, compare, top, two tests, two stores   → ret
//
// All else is a tail call of one of the functions below.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

/// A name that the drop-in takes from the C or C++ library.
#define TARN_EXPORT __attribute__((visibility("default")))

namespace tarn::override {

/// Sizes whose class is looked up rather than computed.
inline constexpr std::size_t tabled = 1024;
struct class_table {
  std::uint8_t of[tabled / detail::block_alignment + 1];
  consteval class_table() noexcept : of{} {
    for (std::size_t step = 0; step < sizeof of; ++step) {
      of[step] = static_cast<std::uint8_t>(detail::class_of(step * detail::block_alignment));
    }
  }
};
inline constexpr class_table table;

/// malloc for any size. Null and errno when there is no memory.
[[gnu::noinline]] void* allocate_slow(std::size_t bytes) noexcept;
[[gnu::noinline]] void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept;
/// free for any pointer, null included.
[[gnu::noinline]] void deallocate_slow(detail::heap_front* at, void* block) noexcept;
[[gnu::noinline, noreturn]] void freed_twice(void* block, detail::size_class index) noexcept;

/// malloc; `slow` is what to do when the magazine is empty or the size is large.
template <class Slow>
[[gnu::always_inline]] inline void* allocate(std::size_t bytes, Slow slow) {
  if (bytes <= tabled) [[likely]] {
    const detail::size_class index =
        table.of[(bytes + detail::block_alignment - 1) / detail::block_alignment];
    detail::heap_front* const at = detail::local;
    void** const top = at->top[index];
    void* const block = top[-1];
    if (block != nullptr) [[likely]] {
      at->top[index] = top - 1;
      return block;
    }
  }
  return slow(bytes);
}

[[gnu::always_inline]] inline void deallocate(void* block) noexcept {
  detail::heap_front* const at = detail::local;
  const std::uintptr_t own = detail::key_of(block) ^ reinterpret_cast<std::uintptr_t>(at);
  if (own >= detail::class_count) [[unlikely]] {
    return override::deallocate_slow(at, block);
  }
  void** const top = at->top[own];
  if (top[-1] == block) [[unlikely]] {
    freed_twice(block, static_cast<detail::size_class>(own));
  }
  if (reinterpret_cast<std::uintptr_t>(top) % detail::magazine_bytes == 0) [[unlikely]] {
    return override::deallocate_slow(at, block);
  }
  *top = block;
  at->top[own] = top + 1;
}

}  // namespace tarn::override
