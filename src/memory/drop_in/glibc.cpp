// Implements glibc's additions to malloc: tuning, trimming and statistics.
#include <malloc.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>

#include <tarn/detail/fast_path.hpp>

#include "memory/api/blocks.hpp"
#include "memory/api/statistics.hpp"
#include "memory/drop_in/fast.hpp"
#include "platform/platform.hpp"

using namespace tarn;

extern "C" {

/// Gives free memory back, and returns 1 if some went back to the system. Of other threads' heaps, too, all but the
/// newest free block of each size class, and of heaps whose threads have ended. The argument, the bytes to keep, is
/// ignored as if it were 0.
TARN_EXPORT int malloc_trim(std::size_t) TARN_LIBC_NOEXCEPT { return api::trim() ? 1 : 0; }

/// Accepts each of glibc's parameters (returns 1), as programs expect. They describe glibc's own structures and have
/// no effect.
TARN_EXPORT int mallopt(int, int) TARN_LIBC_NOEXCEPT { return 1; }

#ifdef __GLIBC__  // musl has no such structures
/// Fills these members: hblks and hblkhd have the number and the bytes of large blocks; arena the other bytes mapped;
/// uordblks the bytes in small blocks that the program has or that wait in front magazines (at most 64 KiB for a size
/// class and thread); fordblks and keepcost the rest of arena; usmblks the peak footprint. The other members are 0.
TARN_EXPORT struct mallinfo2 mallinfo2() TARN_LIBC_NOEXCEPT {
  const process_statistics now = api::process_now();
  struct mallinfo2 info {};
  info.usmblks = now.peak_footprint_bytes;
  info.hblks = now.sums.large_blocks;
  info.hblkhd = now.sums.large_bytes;
  info.uordblks = now.sums.used_bytes - now.sums.large_bytes;
  // Other threads change the parts meanwhile.
  info.arena =
      std::max<std::size_t>(now.mapped_bytes - std::min(now.mapped_bytes, now.sums.large_bytes), info.uordblks);
  info.fordblks = info.arena - info.uordblks;
  info.keepcost = info.fordblks;
  return info;
}

/// Returns the figures of mallinfo2 as int: a larger number is shown modulo 2^32, as by glibc.
TARN_EXPORT struct mallinfo mallinfo() TARN_LIBC_NOEXCEPT {
  const struct mallinfo2 wide = mallinfo2();
  struct mallinfo info {};
  info.arena = static_cast<int>(wide.arena);
  info.usmblks = static_cast<int>(wide.usmblks);
  info.hblks = static_cast<int>(wide.hblks);
  info.hblkhd = static_cast<int>(wide.hblkhd);
  info.uordblks = static_cast<int>(wide.uordblks);
  info.fordblks = static_cast<int>(wide.fordblks);
  info.keepcost = static_cast<int>(wide.keepcost);
  return info;
}

#endif

/// Prints the statistics of this allocator on standard error.
TARN_EXPORT void malloc_stats() TARN_LIBC_NOEXCEPT { api::print_now(); }

/// Writes the same figures as XML in glibc's outline.
TARN_EXPORT int malloc_info(int options, FILE* stream) TARN_LIBC_NOEXCEPT {
  if (options != 0) {
    errno = EINVAL;
    return -1;
  }
  const process_statistics now = api::process_now();
  std::fprintf(
      stream,
      "<malloc version=\"1\">\n"
      "<heap nr=\"0\">\n<sizes>\n</sizes>\n</heap>\n"
      "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
      "<total type=\"rest\" count=\"%llu\" size=\"%llu\"/>\n"
      "<total type=\"mmap\" count=\"%llu\" size=\"%llu\"/>\n"
      "<system type=\"current\" size=\"%llu\"/>\n"
      "<system type=\"max\" size=\"%llu\"/>\n"
      "<aspace type=\"total\" size=\"%llu\"/>\n"
      "<aspace type=\"mprotect\" size=\"%llu\"/>\n"
      "</malloc>\n",
      static_cast<unsigned long long>(now.sums.slabs), static_cast<unsigned long long>(now.sums.slab_bytes),
      static_cast<unsigned long long>(now.sums.large_blocks), static_cast<unsigned long long>(now.sums.large_bytes),
      static_cast<unsigned long long>(now.footprint_bytes), static_cast<unsigned long long>(now.peak_footprint_bytes),
      static_cast<unsigned long long>(now.footprint_bytes), static_cast<unsigned long long>(now.footprint_bytes));
  return 0;
}

}  // extern "C"
