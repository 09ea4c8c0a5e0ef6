// The part of a mapping that is prefetched at once.
#pragma once

#include <cstddef>

namespace tarn::io {

// Sizes from 256 KiB to the whole file were measured: beyond 4 MiB nothing is gained (docs/design/io.md). A larger
// window would only count more pages as the memory of this process before it needs them.
#if TARN_SMALL
inline constexpr std::size_t window_bytes = 8 * 1024;
#else
inline constexpr std::size_t window_bytes = 16 * 1024 * 1024;
#endif

}  // namespace tarn::io
