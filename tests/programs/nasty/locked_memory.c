// A program that locks its memory, as real-time programs do, has at most 16 MiB more resident than without, and less
// than as much again as it uses when it has grown.
//@ tarn-only
//@ broken-by TARN_INCREMENT=64M
#include <sys/mman.h>

#include "../check.h"

int main(void) {
  if (guarded()) return 0;  // guarded blocks take pages of their own
  const size_t before = resident_bytes();
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 0;  // RLIMIT_MEMLOCK of who is not root
  CHECK(resident_bytes() < before + ((size_t)16 << 20));
  size_t used_bytes = 0;
  for (int i = 0; i < 50000; ++i, used_bytes += 1000) {
    char* block = malloc(1000);
    CHECK(block != NULL);
    block[0] = 1;
  }
  CHECK(resident_bytes() < before + 2 * used_bytes + ((size_t)16 << 20));
  return 0;
}
