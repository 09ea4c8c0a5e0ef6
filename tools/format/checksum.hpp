#pragma once

#define XXH_INLINE_ALL  // nothing to link
#include <xxhash.h>

#include <cstddef>
#include <string_view>

#include "format/recording.hpp"

namespace tarn::format {

// Of a block: its header up to the checksum, and its content as it lies in the file.
inline std::uint64_t checksum_of(const block_header& header, std::string_view packed) {
  return XXH3_64bits_withSeed(packed.data(), packed.size(), XXH3_64bits(&header, offsetof(block_header, checksum)));
}

}  // namespace tarn::format
