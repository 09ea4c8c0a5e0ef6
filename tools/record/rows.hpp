// How a function's frame is laid out at an address: a row of its call frame information (.eh_frame), cached.
#pragma once

#include <cstdint>

namespace tarn::record {

// One step from a frame to its caller, in the registers that matter: the stack pointer and the frame pointer.
struct row {
  enum kind : std::uint8_t {
    unknown,     // no information, or of a kind that is not read here
    from_stack,  // the caller's stack pointer is ours + `up`
    from_frame,  // … is the frame pointer + `up`
    outermost,   // there is no caller
    signal,      // the kernel made it: the registers of what it interrupted lie at the stack pointer
  };
  kind how = unknown;
  bool frame_saved = false;   // the caller's frame pointer lies at its stack pointer + 8 * `frame_at`
  std::int8_t return_at = 0;  // and the return address at its stack pointer + 8 * `return_at`
  std::int8_t frame_at = 0;
  std::int32_t up = 0;
};
static_assert(sizeof(row) == 8);

// The row for the instruction at `address`. Takes no lock and allocates nothing; some nanoseconds when it is cached,
// which is almost always. Any thread.
row row_at(std::uintptr_t address) noexcept;

// The same without the cache.
row find_row(std::uintptr_t address) noexcept;

}  // namespace tarn::record
