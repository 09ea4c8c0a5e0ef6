// Reads call frame information (.eh_frame) for one address.
//
// libgcc and libunwind read the same information, but they take locks, allocate, or cost 100 ns a frame. This reader
// supports what compilers write for ordinary functions; everything else is `unknown`.
#pragma once

#include <cstdint>

namespace tarn::unwind {

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
  bool is_frame_saved = false;  // the caller's frame pointer lies at its stack pointer + 8 * `frame_at`
  std::int8_t return_at = 0;    // the return address lies at its stack pointer + 8 * `return_at`
  std::int8_t frame_at = 0;
  std::int32_t up = 0;
};
static_assert(sizeof(row) == 8);

// `header` is the .eh_frame_hdr of the module that contains `address`. Nothing outside of `begin` to `end` is read,
// for any bytes between them; both hold the .eh_frame_hdr and the .eh_frame.
row row_in(const unsigned char* begin, const unsigned char* end, const unsigned char* header,
           std::uintptr_t address) noexcept;

}  // namespace tarn::unwind
