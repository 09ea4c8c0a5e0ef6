#include "profiler/export/gzip.hpp"

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

namespace tarn::exports {

std::string gzip(std::string_view content) {
  constexpr int window = 15 + 16;  // 16 adds gzip's header
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string compressed;
  std::vector<unsigned char> part(1 << 16);
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::size_t next = std::min<std::size_t>(content.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<const unsigned char*>(content.data());
      stream.avail_in = static_cast<uInt>(next);
      content.remove_prefix(next);
    }
    stream.next_out = part.data();
    stream.avail_out = static_cast<uInt>(part.size());
    state = deflate(&stream, content.empty() ? Z_FINISH : Z_NO_FLUSH);
    compressed.append(reinterpret_cast<const char*>(part.data()), part.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return compressed;
}

}  // namespace tarn::exports
