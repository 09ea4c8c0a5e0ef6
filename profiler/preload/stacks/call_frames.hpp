// Reads call frame information (.eh_frame) for one address.
//
// libgcc and libunwind read the same information, but they take locks, allocate, or cost 100 ns a frame. This reader
// supports what compilers write for ordinary functions; everything else is `unknown`.
#pragma once

#include <cstdint>

#include "profiler/preload/stacks/rows.hpp"

namespace tarn::preload {

// `header` is the .eh_frame_hdr of the module that contains `address`; `end` is the end of that module's mapping.
row row_in(const unsigned char* header, const unsigned char* end, std::uintptr_t address) noexcept;

}  // namespace tarn::preload
