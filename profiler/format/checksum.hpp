#pragma once

#define XXH_INLINE_ALL  // nothing to link
#include <xxhash.h>

#include <cstddef>
#include <string_view>

#include "profiler/format/recording.hpp"

namespace tarn::format {

// Returns the checksum of a block: it covers the header up to the checksum field, and the content as stored in the
// file.
inline std::uint64_t checksum_of(const block_header& header, std::string_view packed) {
  return XXH3_64bits_withSeed(packed.data(), packed.size(), XXH3_64bits(&header, offsetof(block_header, checksum)));
}

}  // namespace tarn::format
