// Implements guarded blocks: malloc's family with checks for overrun, underrun, use after free, double free and wrong
// sizes. The drop-in uses them when the option `guard` is on, and so do pools (memory/pools/guarded_blocks.hpp).
//
// A header precedes the program's bytes (memory/guard/guarded_block.hpp), so that an overrun, the most frequent
// mistake, does not destroy the description of the block. A freed block is filled and waits in a quarantine, which
// knows its expected content.
//
// The option is read before the first block, so the drop-in guards either all blocks or none. Every heap of the process
// is then closed, so that each call takes the slow path, which calls these functions.
//
// All functions may be called on any thread. `site` is the address that the program's call returns to.
// docs/guide/guard.md says which mistakes are found and which are not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fault.hpp"

namespace tarn::guard {

/// `hardened` is for the drop-in alone (memory/drop_in/hardening.hpp): this file's blocks are not used then.
enum class mode : unsigned char { unknown, off, enabled, hardened };
extern constinit std::atomic<mode> current_mode;
/// Reads the options if no thread has read them yet. Returns false when there is no memory at all.
bool find_mode() noexcept;

/// Returns whether blocks of this process are guarded. Costs one load once it is known that they are not.
inline bool is_enabled() noexcept {
  // relaxed: the value follows from the environment alone, whichever thread finds it.
  return current_mode.load(std::memory_order_relaxed) != mode::off && find_mode();
}

/// Returns false if it is known that blocks are neither guarded nor hardened.
inline bool may_be_wanted() noexcept { return current_mode.load(std::memory_order_relaxed) != mode::off; }

/// Switches guarded blocks on, whatever the option says. Must be called before the first block. Returns false without
/// memory.
bool prepare() noexcept;

/// The value of stated_bytes where the caller states no size. No block is this large.
inline constexpr std::size_t no_stated_size = std::size_t{1} << 63;

/// Returns a block that is filled with a pattern, at most its first 64 KiB. Returns null when there is no memory.
void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept;
/// Returns a zeroed block.
void* allocate_zeroed(std::size_t count, std::size_t element_bytes, const void* site) noexcept;
/// Frees a block that is not null. Reports a fault when `stated_bytes` is not the requested size.
void deallocate(const char* entry, void* block, std::size_t stated_bytes, const void* site) noexcept;
/// Resizes a block. It always returns another block, so that a use of the old address is found. `block` may be null. If
/// it returns null, the old block is untouched.
void* reallocate(void* block, std::size_t bytes, const void* site) noexcept;
/// Returns the requested size; 0 for null.
std::size_t usable_bytes(const char* entry, const void* block) noexcept;

/// Returns the number that is stored with a live guarded block, by which a pool finds its own record. The caller
/// synchronises changes of it. A pointer that is no live guarded block is a fault.
std::uint32_t note_of(const char* entry, const void* block) noexcept;
void set_note(void* block, std::uint32_t note) noexcept;
/// Returns the record of a live block: the thread that allocated it, and the call.
base::block_record record_of(const void* block) noexcept;

}  // namespace tarn::guard
