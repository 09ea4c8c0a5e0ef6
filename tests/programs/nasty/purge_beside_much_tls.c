// background_purge works in a program with 1 MiB of static thread-local storage, of which the C library takes each
// thread's part from the thread's stack.
//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=1
//@ env TARN_PURGE_DELAY_MS=20
//@ broken-by TARN_BACKGROUND_PURGE=0
#include "../check.h"

static __thread char storage[1 << 20] = "not zero, so that it is part of the file";

enum { count = 12, block_bytes = 1 << 20 };

int main(void) {
  if (guarded()) return 0;  // a quarantine keeps freed blocks
  storage[sizeof storage - 1] = 1;
  void* blocks[count];
  for (int i = 0; i < count; ++i) {
    blocks[i] = malloc(block_bytes);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, block_bytes);
  }
  for (int i = 0; i < count; ++i) free(blocks[i]);
  const size_t before = resident_bytes();
  for (unsigned wait_ms = 0; resident_bytes() + (size_t)count / 2 * block_bytes > before; wait_ms += 50) {
    CHECK(wait_ms < 1000 * hang_seconds());
    usleep(50000);
  }
  return 0;
}
