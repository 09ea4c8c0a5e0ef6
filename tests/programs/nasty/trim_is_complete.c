// malloc_trim gives the pages back in which no block is left, also where other blocks of the same size live beside
// them.
//@ tarn-only
//@ broken-by free_leaks
#include "../check.h"

enum { blocks = 200000, size = 1024, step = 64 };
static char* block[blocks];

int main(void) {
  if (guarded()) return 0;  // a quarantine keeps what was freed
  size_t before = resident_bytes();
  for (int i = 0; i < blocks; ++i) {
    block[i] = malloc(size);
    fill(block[i], size, (unsigned)i);
  }
  CHECK(resident_bytes() - before >= (size_t)blocks * size);
  for (int i = 0; i < blocks; ++i) {
    if (i % step != 0) free(block[i]);
  }
  CHECK(malloc_trim(0) == 1);
  CHECK(resident_bytes() - before < 6 * (size_t)blocks / step * size + (4 << 20));
  for (int i = 0; i < blocks; i += step) CHECK(is_filled(block[i], size, (unsigned)i));
  for (int round = 0; round < 2; ++round) {  // what was given back serves again
    for (int i = 0; i < blocks; ++i) {
      if (i % step == 0) continue;
      block[i] = malloc(size);
      fill(block[i], size, (unsigned)i);
    }
    for (int i = 0; i < blocks; ++i) CHECK(is_filled(block[i], size, (unsigned)i));
    for (int i = 0; i < blocks; ++i) {
      if (i % step != 0) free(block[i]);
    }
    malloc_trim(0);
  }
  return 0;
}
