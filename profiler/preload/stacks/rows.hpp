// Tells how a function's frame is laid out at an address: a cached row of its call frame information (.eh_frame).
#pragma once

#include <cstdint>

namespace tarn::preload {

// Describes one step from a frame to its caller, in the registers that matter: the stack pointer and the frame
// pointer.
struct row {
  enum kind : std::uint8_t {
    unknown,     // no information, or of an unsupported kind
    from_stack,  // the caller's stack pointer is ours + `up`
    from_frame,  // the caller's stack pointer is the frame pointer + `up`
    outermost,   // there is no caller
    signal,      // the kernel made the frame: the interrupted registers lie at the stack pointer
  };
  kind rule = unknown;
  bool frame_saved = false;   // the caller's frame pointer lies at its stack pointer + 8 * `frame_at`
  std::int8_t return_at = 0;  // the return address lies at its stack pointer + 8 * `return_at`
  std::int8_t frame_at = 0;
  std::int32_t up = 0;
};
static_assert(sizeof(row) == 8);

// Returns the row for the instruction at `address`. It takes no lock and allocates nothing. It costs some nanoseconds
// when the row is cached, which is almost always. Any thread may call it.
row row_at(std::uintptr_t address) noexcept;

// Returns the row without use of the cache.
row find_row(std::uintptr_t address) noexcept;

}  // namespace tarn::preload
