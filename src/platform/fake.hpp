// What a test can ask of the fake platform (fake.cpp): to fail, to be short of memory, to say what is mapped.
//
// All functions: any thread. A *page request* is a call that asks the system for memory or address space: map,
// map_read_only, make_writable, prefault, resize that grows, move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tarn::platform::fake {

/// Everything below as it was at the start, and the counts at 0. What is mapped stays, and so does the time.
void reset() noexcept;

// ------------------------------------------------------------------ failing

/// The n-th page request from now on fails, once; 0: none. FAKE_FAIL_REQUEST=n in the environment does it from the
/// start of the process.
void fail_request(std::uint64_t n) noexcept;
/// So does every one after it.
void fail_requests_from(std::uint64_t n) noexcept;
/// Page requests since reset(), and those of them that failed because a test wanted it.
std::uint64_t page_requests() noexcept;
std::uint64_t refused_requests() noexcept;

/// Most bytes that may be mapped writable; requests beyond it fail. 0: no limit.
void set_budget(std::size_t bytes) noexcept;
/// The next map() is at `place`, where nothing may be; map() fails when it cannot be.
void map_next_at(void* place) noexcept;
/// From now on map() looks for room at `place` first; `always`: whatever its caller wishes. Null: no more.
void map_near(void* place, bool always) noexcept;
/// No mapping grows in place from now on.
void refuse_growth(bool refused) noexcept;
/// purge() has no effect from now on, as with locked memory.
void refuse_purges(bool refused) noexcept;

// ------------------------------------------------------------------ what there is

/// A piece of memory that map() gave and nobody has unmapped.
struct mapping {
  char* start;
  std::size_t bytes;
  friend bool operator==(const mapping&, const mapping&) = default;
};
/// All of them by address; neighbours that were mapped apart stay apart. What map_read_only() gave is not among them.
std::vector<mapping> mappings();
/// Bytes of all that is mapped, writable or not.
std::size_t outstanding_bytes() noexcept;

/// Calls since reset(): all that enter the kernel, sleeping and waking included.
std::uint64_t kernel_calls() noexcept;
std::uint64_t prefaulted_bytes() noexcept;
std::uint64_t huge_advices(bool wanted) noexcept;

// ------------------------------------------------------------------ the machine

/// The clock stands still but for these, and for sleep_ms(), which returns at once.
void set_now_ms(std::uint64_t now) noexcept;
void advance_ms(std::uint64_t by) noexcept;

void set_address_space_limit(std::size_t bytes) noexcept;
void set_physical_memory(std::size_t bytes) noexcept;

}  // namespace tarn::platform::fake
