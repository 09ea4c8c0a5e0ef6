// With background_purge=0 no thread is ever started, and free memory waits for the next call.
//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=0
//@ broken-by TARN_BACKGROUND_PURGE=1
#include "../check.h"

int main(void) {
  if (guarded()) return 0;  // a quarantine keeps what was freed
  for (int wave = 0; wave < 5; ++wave) {
    free(memset(malloc(25 << 20), 1, 25 << 20));
    CHECK(thread_count() == 1);
  }
  return 0;
}
