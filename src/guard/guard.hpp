// Guarded blocks: malloc's family with checks for overrun, underrun, use after free,
// double free and wrong sizes. For the drop-in, when the option `guard` is on, and for
// pools (pools/guarded_blocks.hpp).
//
// A header stands before the program's bytes (guard/guarded_block.hpp), not behind them, so
// that an overrun, the most frequent mistake, leaves what is needed to tell whose block it
// was. A freed block is filled and waits in a quarantine, which knows what it looked like.
//
// Either all blocks that the drop-in hands out are guarded or none: the option is read
// before the first one. Every heap of the process is closed then, so that each call takes
// a slow path, and comes here.
//
// All functions: any thread. `site` is the address that the program's call returns to.
// docs/guard.md says what is found and what is not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fault.hpp"

namespace tarn::guard {

enum class mode : unsigned char { unknown, off, on };
extern constinit std::atomic<mode> current_mode;
/// Reads the options if nobody has. False when there is no memory for anything.
bool find_mode() noexcept;

/// Whether blocks of this process are guarded. One load once that is known.
inline bool wanted() noexcept {
  // relaxed: the value follows from the environment alone, whoever finds it.
  return current_mode.load(std::memory_order_relaxed) != mode::off && find_mode();
}

/// Before the first block where guarded ones are wanted whatever the option says. False: no memory.
bool prepare() noexcept;

/// What said_bytes is where the caller does not say a size. No block is as large.
inline constexpr std::size_t unsaid = std::size_t{1} << 63;

/// Filled with a pattern, at most the first 64 KiB. Null when there is no memory.
void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept;
/// Zeroed.
void* allocate_zeroed(std::size_t count, std::size_t each, const void* site) noexcept;
/// Not null. Reports a fault when `said_bytes` is not what was requested.
void deallocate(const char* entry, void* block, std::size_t said_bytes, const void* site) noexcept;
/// Always another block, so that who kept the old address shows. `block` may be null.
/// On null it is untouched.
void* reallocate(void* block, std::size_t bytes, const void* site) noexcept;
/// As requested; 0 for null.
std::size_t usable_bytes(const char* entry, const void* block) noexcept;

/// A number that a live block carries; pools know by it where they have noted the block. Changes are the owner's to
/// order. A pointer that is no live guarded block is a fault.
std::uint32_t note_of(const char* entry, const void* block) noexcept;
void set_note(void* block, std::uint32_t note) noexcept;
/// Who allocated a live block, and where.
base::block_record record_of(const void* block) noexcept;

}  // namespace tarn::guard
