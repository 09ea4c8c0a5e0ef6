// A program that frees its memory and then makes no call gets smaller all the same, without a thread that stays, and
// atomics of a program with one thread stay as cheap as they were.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
#include <signal.h>
#include <sys/single_threaded.h>
#include "../check.h"

enum { tables = 16, table_bytes = 25 << 20 };
static char* block[tables];

static void wait_until_small(size_t bytes) {
  for (int tenths = 0; (resident_bytes() > bytes || thread_count() != 1) && tenths < 300; ++tenths) usleep(100000);
  if (resident_bytes() > bytes) note_size("resident_bytes", resident_bytes());
  CHECK(resident_bytes() <= bytes);
  CHECK(thread_count() == 1);
  CHECK(__libc_single_threaded);
}

static void use_tables(void) {
  for (int i = 0; i < tables; ++i) block[i] = memset(malloc(table_bytes), 1, table_bytes);
  for (int i = 0; i < tables; ++i) free(block[i]);
}
int main(void) {
  if (guarded()) return 0;  // a quarantine keeps what was freed
  sigset_t signals;
  sigfillset(&signals);
  CHECK(sigprocmask(SIG_SETMASK, &signals, NULL) == 0);  // a helper needs no signal, and takes none
  free(malloc(1));
  size_t limit = resident_bytes() + (8 << 20);
  use_tables();
  wait_until_small(limit);
  for (int wave = 0; wave < 3; ++wave) use_tables();
  wait_until_small(limit);
  CHECK(raise(SIGUSR1) == 0 && sigpending(&signals) == 0 && sigismember(&signals, SIGUSR1) == 1);
  return 0;
}
