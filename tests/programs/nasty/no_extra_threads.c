// The allocator starts no thread of its own where little memory waits to be given back.
//@ broken-by starts_thread
#include "../check.h"

int main(void) {
  if (guarded()) return 0;  // a quarantine keeps much, and gives it back in bulk
  CHECK(thread_count() == 1);
  for (int i = 0; i < 20000; ++i) free(memset(malloc((size_t)i * 100 + 1), 1, (size_t)i * 100 + 1));
  usleep(700000);  // longer than the purge delay
  for (int i = 0; i < 20000; ++i) free(malloc((size_t)i + 1));
  CHECK(thread_count() == 1);
  return 0;
}
