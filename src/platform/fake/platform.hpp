// Lets a test request from the fake platform (fake/platform.cpp): failures, a shortage of memory, a list of the
// mappings.
//
// Threads: any, for all functions. A *page request* is a call that asks the system for memory or address space: map,
// reserve, make_writable, prefault, resize that grows, move, move_part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tarn::platform::fake {

/// Resets everything below to its initial state, and the counts to 0. Mappings and the time stay.
void reset() noexcept;

// ------------------------------------------------------------------ failing

/// Makes the n-th page request from now on fail, once; 0: none. FAKE_FAIL_REQUEST=n in the environment does so from
/// the start of the process.
void fail_request(std::uint64_t n) noexcept;
/// Makes that request and all later ones fail.
void fail_requests_from(std::uint64_t n) noexcept;
/// Counts page requests since reset(), and those that failed because a test wanted it.
std::uint64_t page_requests() noexcept;
std::uint64_t refused_requests() noexcept;

/// Sets the most bytes that may be mapped writable; requests beyond it fail. 0: no limit.
void set_budget(std::size_t bytes) noexcept;
/// Sets what available_memory() returns; 0: unknown.
void set_available_memory(std::size_t bytes) noexcept;
/// Puts the next map() at `address`, where nothing may be mapped; map() fails when that is impossible.
void map_next_at(void* address) noexcept;
/// Makes map() look for room at `address` first. Null ends this.
void map_near(void* address) noexcept;
/// Lets no mapping grow in place from now on.
void refuse_growth(bool is_refused) noexcept;
/// Makes purge() have no effect from now on, as with locked memory.
void refuse_purges(bool is_refused) noexcept;
/// Makes purge() call this function first, from now on, in its caller's thread. Null removes it.
void call_at_purge(void (*call)()) noexcept;
/// Makes sleep_while() call this function first, from now on, in its caller's thread. Null removes it.
void call_at_sleep(void (*call)()) noexcept;

// ------------------------------------------------------------------ what there is

/// A mapping, or the part of one that was not unmapped.
struct mapping {
  char* start;
  std::size_t bytes;
  friend bool operator==(const mapping&, const mapping&) = default;
};
/// Returns all pieces by address; neighbours that were mapped apart stay apart. The pieces exclude those of
/// reserve().
std::vector<mapping> mappings();
/// Returns the bytes of all mappings, writable or not.
std::size_t outstanding_bytes() noexcept;

/// Counts the calls that enter the kernel since reset(), with sleeping and waking.
std::uint64_t kernel_calls() noexcept;
std::uint64_t prefaulted_bytes() noexcept;
std::uint64_t huge_advices(bool asks_for_huge) noexcept;

// ------------------------------------------------------------------ helpers

/// Calls the function that start_helper() was last given: the fake start_helper() only remembers it. Returns false if
/// there is none.
bool run_helper() noexcept;

// ------------------------------------------------------------------ the machine

/// Only these functions move the clock, and sleep_ms() and sleep_while(), which return at once.
void set_now_ms(std::uint64_t now) noexcept;
void advance_ms(std::uint64_t amount) noexcept;

}  // namespace tarn::platform::fake
