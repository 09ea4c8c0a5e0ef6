// The operating system as Tarn sees it: a small contract, and the only place
// that asks for memory, time or sleep. linux.cpp keeps it; fake.cpp keeps it
// for tests, counts, and fails on request.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/statistics.hpp>

namespace tarn::platform {

/// Bytes in a page. A power of two; the same for the life of the process.
std::size_t page_bytes() noexcept;

/// Maps `bytes` of zeroed, readable and writable memory at a multiple of
/// `alignment` (a power of two, at least a page). Null when the system has none.
/// Requires bytes % page_bytes() == 0. No memory is used until it is touched.
/// With `wish`, at that address if nothing is there; elsewhere otherwise.
void* map(std::size_t bytes, std::size_t alignment, void* wish = nullptr) noexcept;

/// As map, but memory that only reads as zero until `make_writable`: it counts
/// as address space, never as a promise of memory.
void* map_read_only(std::size_t bytes) noexcept;

/// Makes part of map_read_only's memory writable. False when the system refuses.
[[nodiscard]] bool make_writable(void* start, std::size_t bytes) noexcept;

/// Takes back what `map` gave, the whole or an end of it.
void unmap(void* start, std::size_t bytes) noexcept;

/// Grows or shrinks a mapping at its end, in place. False (and nothing changed)
/// when something else is in the way.
[[nodiscard]] bool resize(void* start, std::size_t old_bytes, std::size_t new_bytes) noexcept;

/// Moves the pages of a mapping onto the first bytes of `place`, a mapping of
/// `place_bytes`, without copying. False: the old mapping is unchanged, and `place`
/// must not be used again.
[[nodiscard]] bool move(void* start, std::size_t bytes, void* place, std::size_t place_bytes) noexcept;

/// Gives the pages of a mapping back; they read as zero afterwards. False when
/// the system did not do it (they then keep their contents).
bool purge(void* start, std::size_t bytes) noexcept;

/// Touches the pages, so that later use causes no fault. False: not enough memory.
bool prefault(void* start, std::size_t bytes) noexcept;

/// Asks for huge pages, or for none, in a mapping. Advice: no result.
void advise_huge(void* start, std::size_t bytes, bool wanted) noexcept;

/// Milliseconds of a clock that only grows; a few nanoseconds, a resolution of
/// a few milliseconds.
std::uint64_t now_ms() noexcept;

/// The kernel's number of the calling thread, as tools show it.
std::uint32_t thread_number() noexcept;

/// Not 0, not the same for two threads at a time, and the same in a forked child; costs
/// no system call.
std::uintptr_t thread_token() noexcept;

/// Limit of the process's address space in bytes; 0 when there is none.
std::size_t address_space_limit() noexcept;
/// Bytes of memory in this machine.
std::size_t physical_memory() noexcept;

/// Sleeps while *word == expected, at most until woken. May return early.
void wait(const std::uint32_t* word, std::uint32_t expected) noexcept;
void wake_one(const std::uint32_t* word) noexcept;

/// At least so long, unless a signal comes.
void sleep_ms(std::uint32_t wanted) noexcept;

/// System calls that this file made for memory, by kind; purges that worked.
system_call_counts system_calls() noexcept;
struct purge_counts {
  std::uint64_t runs;
  std::uint64_t bytes;
};
purge_counts purged() noexcept;

/// Bytes mapped writable now, and the most there were.
std::size_t mapped_bytes() noexcept;
std::size_t peak_mapped_bytes() noexcept;

}  // namespace tarn::platform
