// Sampled guards: a few of the drop-in's blocks lie alone between inaccessible pages, also in production.
//
// A *slot* is a range of pages between two inaccessible ones. A sampled block lies at the first or at the last byte of
// its slot, at random, so that an overrun or an underrun faults at once. When it is freed, the slot becomes
// inaccessible, and stays so until some other slots have been freed after it: any use of it faults. The fault names the
// access, the block, and the two stacks.
//
// All memory is bounded: there are slot_count slots, and no block is sampled when none is ready. All CPU time is
// bounded: there is at most one sample in each interval of the clock. docs/design/sampled-guards.md has the reasons.
//
// All functions may be called on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/call_stack.hpp"

namespace tarn::guard::samples {

inline constexpr std::size_t slot_count = 128;
inline constexpr std::size_t slot_bytes = std::size_t{16} << 10;  ///< no larger block is sampled
inline constexpr std::size_t gap_bytes = std::size_t{16} << 10;   ///< inaccessible, on both sides of each slot
inline constexpr std::size_t region_bytes = gap_bytes + slot_count * (slot_bytes + gap_bytes);
/// A freed slot is used again only after this many others have been freed.
inline constexpr std::size_t resting_slots = slot_count / 4;

/// Reads the option. Must be called before the process has threads.
void configure(std::uint32_t interval) noexcept;

/// Blocks that the calling thread's heap may still take before the next sample.
extern constinit thread_local std::int32_t blocks_left [[gnu::tls_model("initial-exec")]];
inline bool is_due() noexcept { return blocks_left < 0; }
inline void count(std::uint32_t blocks) noexcept { blocks_left -= static_cast<std::int32_t>(blocks); }

/// Called when a sample is due. Returns a block whose bytes are zero, or null when this allocation is not sampled.
/// `site` is the address that the program's call returns to.
void* allocate(std::size_t bytes, std::size_t alignment, const void* site) noexcept;

/// The address of the region of all slots. No address is in the range before there are any.
inline constinit std::atomic<std::uintptr_t> region_start{std::uintptr_t{1} << 62};
/// Returns whether `address` lies in a slot or in a gap between slots.
inline bool contain(const void* address) noexcept {
  // relaxed: a thread that holds a sampled block got it after the stores, and for other addresses any value gives
  // false.
  return reinterpret_cast<std::uintptr_t>(address) - region_start.load(std::memory_order_relaxed) < region_bytes;
}

/// Frees a sampled block. An address in the region that is no live block is a fault.
void deallocate(const char* entry, void* block, const void* site) noexcept;
/// Returns the requested size of a sampled block, which must be live.
std::size_t usable_bytes(const char* entry, const void* block) noexcept;

// ------------------------------------------------------------------ inside

enum class slot_state : std::uint32_t { unused, live, leaving, freed };

/// Describes the block that a slot has, or had last.
struct slot_record {
  std::atomic<slot_state> state{slot_state::unused};
  std::uint32_t allocated_by = 0;
  std::uint32_t freed_by = 0;
  char* user = nullptr;
  std::size_t bytes = 0;
  base::call_stack allocated_at;
  base::call_stack freed_at;
};

/// Returns the record of the slot that an address in the region belongs to: that of the nearest block for an address
/// between two slots. Null when no block has been near it.
const slot_record* record_near(const void* address) noexcept;

/// Makes accesses to inaccessible pages of the region, or to heaps that have ended, faults with a name. A handler that
/// the program has installed before gets all other faults.
void install_handler() noexcept;

[[noreturn]] void fault_sampled_access(const slot_record& slot, const void* address, bool is_write, bool is_known,
                                       const void* instruction) noexcept;
[[noreturn]] void fault_sampled_double_free(const char* entry, const slot_record& slot) noexcept;
/// Reports a call, other than free, with a block that was freed.
[[noreturn]] void fault_sampled_use(const char* entry, const slot_record& slot) noexcept;
[[noreturn]] void fault_sampled_misaligned(const char* entry, const slot_record& slot, const void* pointer) noexcept;
/// [first, last) are the changed bytes, counted from the start of the block; negative ones lie before it.
[[noreturn]] void fault_sampled_damage(const char* entry, const slot_record& slot, std::ptrdiff_t first,
                                       std::ptrdiff_t last) noexcept;

}  // namespace tarn::guard::samples
