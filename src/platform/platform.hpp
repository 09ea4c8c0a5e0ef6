// The operating system as Tarn sees it: a small contract, and the only place that asks for memory, time or sleep.
// linux.cpp implements it; fake/platform.cpp implements it for tests, counts, and fails on request.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/statistics.hpp>

namespace tarn::platform {

/// Returns the bytes in a page: a power of two, constant for the life of the process.
std::size_t page_bytes() noexcept;

/// The number of inaccessible bytes on both sides of each mapping, where an access past its end faults.
inline constexpr std::size_t guard_bytes = std::size_t{64} << 10;

/// Maps `bytes` of zeroed, readable and writable memory at a multiple of `alignment` (a power of two, at least a
/// page), between guards. Returns null when the system has none. Requires bytes % page_bytes() == 0. The memory is not
/// used until it is touched.
void* map(std::size_t bytes, std::size_t alignment) noexcept;

/// Unmaps a whole mapping of `map`.
void unmap(void* start, std::size_t bytes) noexcept;

/// Makes a whole mapping of `map` inaccessible and gives its memory back, but keeps its addresses from other mappings
/// until give_addresses(). Returns false, and changes nothing, when the system refuses.
[[nodiscard]] bool keep_addresses(void* start, std::size_t bytes) noexcept;
void give_addresses(void* start, std::size_t bytes) noexcept;

/// Grows or shrinks a mapping in place, at its end. Returns false, and changes nothing, when something is in the way.
[[nodiscard]] bool resize(void* start, std::size_t old_bytes, std::size_t new_bytes) noexcept;

/// Moves the pages of a mapping onto the first bytes of `target`, a mapping of `target_bytes`, without copying. When it
/// returns false, the old mapping is unchanged, and `target` must not be used again. A mapping that was moved and then
/// grown cannot be moved again.
[[nodiscard]] bool move(void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept;

/// Moves the pages of a part of a mapping onto the first bytes of `target`, a mapping of `target_bytes`, without
/// copying. The part stays, and reads as zero. When it returns false, the part is unchanged, and `target` must not be
/// used again: the kernel is older than 5.7, the memory is locked, or there is no more room. `target` can be moved as a
/// whole, but not after it has grown.
[[nodiscard]] bool move_part(void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept;

/// Reserves inaccessible address space, which is never given back, at a random distance from other mappings. Returns
/// null when there is none. It counts as address space, never as committed memory.
void* reserve(std::size_t bytes) noexcept;

/// Makes a part of reserve's address space readable and writable. Returns false when the system refuses.
[[nodiscard]] bool make_writable(void* start, std::size_t bytes) noexcept;

/// Makes such a part inaccessible again, and returns its pages to the system. Returns false when the system refuses.
[[nodiscard]] bool make_inaccessible(void* start, std::size_t bytes) noexcept;

/// Returns the pages of a mapping to the system; they read as zero afterwards. Returns false when the system did not
/// do it; the pages then keep their contents.
bool purge(void* start, std::size_t bytes) noexcept;

/// Touches the pages, so that later use causes no fault. Returns false when memory does not suffice.
bool prefault(void* start, std::size_t bytes) noexcept;

/// Asks for huge pages, or for none, in a mapping. This is advice and has no result.
void advise_huge(void* start, std::size_t bytes, bool asks_for_huge) noexcept;

/// Returns milliseconds of a monotonic clock, with a resolution of a few milliseconds. Costs a few nanoseconds.
std::uint64_t now_ms() noexcept;

/// Returns the kernel's number of the calling thread, as tools show it.
std::uint32_t thread_number() noexcept;

/// Returns a nonzero number that no other living thread has, and that stays the same in a forked child. Makes no
/// system call.
std::uintptr_t thread_token() noexcept;

/// Returns the limit of the process's address space (RLIMIT_AS) in bytes, or 0 if there is none. One system call.
std::size_t address_space_limit() noexcept;

/// Returns the bytes that can probably be touched before the system kills a process for want of memory: available
/// memory of the machine and of the process's control groups, and swap. SIZE_MAX: unknown. Costs some 50 us.
std::size_t available_memory() noexcept;

/// Sleeps while *word == expected, at most until woken. May return early.
void wait(const std::uint32_t* word, std::uint32_t expected) noexcept;
void wake_one(const std::uint32_t* word) noexcept;

/// Sleeps at least this long, unless a signal comes.
void sleep_ms(std::uint32_t duration_ms) noexcept;
/// Sleeps so long while *word == expected, at most until woken. May return early.
void sleep_while(const std::uint32_t* word, std::uint32_t expected, std::uint32_t wanted_ms) noexcept;

/// Counts the system calls for memory by kind, and the purges that worked.
system_call_counts system_calls() noexcept;
struct purge_counts {
  std::uint64_t runs;
  std::uint64_t bytes;
};
purge_counts purge_totals() noexcept;

/// Bytes mapped writable now.
std::size_t mapped_bytes() noexcept;

}  // namespace tarn::platform
