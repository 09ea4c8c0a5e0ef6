// Detects a second free of a small block at once, in builds with TARN_CHECKS and in those for AddressSanitizer.
//
// With TARN_CHECKS a free block carries a mark in its second word: its address and a constant whose high bits no
// address has. An allocation removes the mark. AddressSanitizer needs no mark: free blocks are poisoned. Release builds
// do neither (docs/design/double-free.md has the figures); there libtarn-malloc.so checks on its own
// (memory/heap/free_mark.hpp).
#pragma once

#include <cstdint>

#include <tarn/detail/config.hpp>

#if TARN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace tarn::detail {

inline constexpr bool checks_frees = TARN_CHECKS != 0 || TARN_ADDRESS_SANITIZER != 0;

/// Ends the program with a message that names the block. For blocks of size classes.
[[noreturn]] void report_double_free(const void* block) noexcept;

/// Returns the word of a block that carries the mark. The compiler assumes that a block is as long as its object, so
/// it must not know where this address comes from.
[[gnu::always_inline]] inline std::uintptr_t* mark_word(void* block) noexcept {
  auto* word = static_cast<std::uintptr_t*>(block) + 1;
  asm("" : "+r"(word));
  return word;
}

/// Notes that `block`, of a size class, is allocated. Null is allowed.
[[gnu::always_inline]] inline void note_allocated([[maybe_unused]] void* block) noexcept {
  if constexpr (checks_frees && TARN_ADDRESS_SANITIZER == 0) {
    if (block != nullptr) {
      __atomic_store_n(mark_word(block), std::uintptr_t{0}, __ATOMIC_RELAXED);
    }
  }
}

/// Notes that `block`, of a size class, is free, and reports a fault if it was free before. When two threads free it
/// at once, one of them sees the mark of the other, because the exchange is atomic.
[[gnu::always_inline]] inline void note_free([[maybe_unused]] void* block) noexcept {
  if constexpr (TARN_ADDRESS_SANITIZER != 0) {
#if TARN_ADDRESS_SANITIZER
    if (__asan_address_is_poisoned(block) != 0) [[unlikely]] {
      report_double_free(block);
    }
#endif
  } else if constexpr (checks_frees) {
    constexpr std::uintptr_t high_bits = std::uintptr_t{0xa5c3} << 48;
    const std::uintptr_t mark = high_bits ^ reinterpret_cast<std::uintptr_t>(block);
    if (__atomic_exchange_n(mark_word(block), mark, __ATOMIC_RELAXED) == mark) [[unlikely]] {
      report_double_free(block);
    }
  }
}

}  // namespace tarn::detail
