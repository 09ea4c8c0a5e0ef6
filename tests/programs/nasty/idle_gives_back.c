// A program that frees its memory and then makes no call gets smaller all the same, without a thread that stays, and
// atomics of a program with one thread stay as cheap as they were.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
#include <fcntl.h>
#include <signal.h>
#include <sys/single_threaded.h>
#include "../check.h"

enum { tables = 16, table_bytes = 25 << 20 };
static char* block[tables];

// Neither allocates, so that no call of the program gives memory back.
static size_t resident_kib(void) {
  char text[128] = {0};
  int fd = open("/proc/self/statm", O_RDONLY);
  CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
  close(fd);
  return strtoul(strchr(text, ' '), NULL, 10) * 4;
}
static int threads(void) {
  char text[4096] = {0};
  int fd = open("/proc/self/status", O_RDONLY);
  CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
  close(fd);
  return atoi(strstr(text, "\nThreads:") + 9);
}

static void wait_until_small(size_t kib) {
  for (int tenths = 0; (resident_kib() > kib || threads() != 1) && tenths < 200; ++tenths) usleep(100000);
  if (resident_kib() > kib) note_size("resident_kib", resident_kib());
  CHECK(resident_kib() <= kib);
  CHECK(threads() == 1);
  CHECK(__libc_single_threaded);
}

static void use_tables(void) {
  for (int i = 0; i < tables; ++i) block[i] = memset(malloc(table_bytes), 1, table_bytes);
  for (int i = 0; i < tables; ++i) free(block[i]);
}
int main(void) {
  if (guarded()) return 0;  // a quarantine keeps what was freed
  sigset_t all;
  sigfillset(&all);
  CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);  // a helper needs no signal, and takes none
  free(malloc(1));
  size_t most = resident_kib() + 8192;
  use_tables();
  wait_until_small(most);
  for (int wave = 0; wave < 3; ++wave) use_tables();
  wait_until_small(most);
  CHECK(raise(SIGUSR1) == 0 && sigpending(&all) == 0 && sigismember(&all, SIGUSR1) == 1);
  return 0;
}
