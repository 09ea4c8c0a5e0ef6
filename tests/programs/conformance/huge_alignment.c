// Alignments far above the page: 4 MiB to 1 GiB, and ones that cannot be met give ENOMEM.
//@ broken-by memalign_weak no_errno
//@ limit as=16G
#include <errno.h>
#include "../check.h"

int main(void) {
  for (size_t alignment = (size_t)4 << 20; alignment <= (size_t)1 << 30; alignment *= 2) {
    char* kept[3];
    for (int i = 0; i < 3; ++i) {
      kept[i] = aligned_alloc(alignment, 100 + (size_t)i * 5000000);
      CHECK(kept[i] != NULL && is_aligned(kept[i], alignment));
      kept[i][0] = kept[i][99 + (size_t)i * 5000000] = 7;
    }
    for (int i = 0; i < 3; ++i) free(kept[i]);
  }
  for (int bits = 40; bits < 64; ++bits) {
    errno = 0;
    CHECK(aligned_alloc((size_t)1 << bits, 16) == NULL && errno == ENOMEM);
  }
  return 0;
}
