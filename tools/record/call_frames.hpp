// Reads call frame information (.eh_frame) for one address.
//
// libgcc and libunwind read the same, but take locks, allocate, or cost 100 ns a frame; what is read here is what
// compilers write for ordinary functions. Everything else is `unknown`.
#pragma once

#include <cstdint>

#include "record/rows.hpp"

namespace tarn::record {

// `header`: the .eh_frame_hdr of the module that has `address`; `end`: the end of that module's mapping.
row row_in(const unsigned char* header, const unsigned char* end, std::uintptr_t address) noexcept;

}  // namespace tarn::record
