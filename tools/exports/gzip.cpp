#include "exports/gzip.hpp"

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

namespace tarn::exports {

std::string gzip(std::string_view content) {
  constexpr int window = 15 + 16;  // 16 adds gzip's header
  z_stream to = {};
  if (deflateInit2(&to, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string made;
  std::array<unsigned char, 1 << 16> part;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (to.avail_in == 0) {
      const std::size_t next = std::min<std::size_t>(content.size(), std::numeric_limits<uInt>::max());
      to.next_in = reinterpret_cast<const unsigned char*>(content.data());
      to.avail_in = static_cast<uInt>(next);
      content.remove_prefix(next);
    }
    to.next_out = part.data();
    to.avail_out = part.size();
    state = deflate(&to, content.empty() ? Z_FINISH : Z_NO_FLUSH);
    made.append(reinterpret_cast<const char*>(part.data()), part.size() - to.avail_out);
  }
  deflateEnd(&to);
  return made;
}

}  // namespace tarn::exports
