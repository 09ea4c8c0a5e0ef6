// How much of a mapping is asked for at once.
#pragma once

#include <cstddef>

namespace tarn::io {

// Of 256 KiB to all at once, measured: from 4 MiB on nothing is gained (docs/design/io.md). More would only have more
// pages of a large file counted as this process's before they are needed.
#if TARN_SMALL
inline constexpr std::size_t window_bytes = 8 * 1024;
#else
inline constexpr std::size_t window_bytes = 16 * 1024 * 1024;
#endif

}  // namespace tarn::io
