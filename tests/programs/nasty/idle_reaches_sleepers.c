// Threads that free small blocks and then sleep give their memory back all the same: what lies in their depots, what
// others have freed for them, and pages between blocks that are still in use.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
#include <fcntl.h>
#include <pthread.h>
#include "../check.h"

enum { count = 400000, kept_every = 64 };
static char* block[count];

// It does not allocate, so that no call of the program gives memory back.
static size_t resident_kib(void) {
  char text[128] = {0};
  int fd = open("/proc/self/statm", O_RDONLY);
  CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
  close(fd);
  return strtoul(strchr(text, ' '), NULL, 10) * 4;
}
static void wait_until_small(size_t kib) {
  for (int tenths = 0; resident_kib() > kib && tenths < 200; ++tenths) usleep(100000);
  if (resident_kib() > kib) note_size("resident_kib", resident_kib());
  CHECK(resident_kib() <= kib);
}

static void allocate_all(size_t size) {
  for (int i = 0; i < count; ++i) {
    block[i] = malloc(size);
    CHECK(block[i] != NULL);
    memset(block[i], 1, size);
  }
}
static void free_all(int except_every) {
  for (int i = 0; i < count; ++i) {
    if (except_every != 0 && i % except_every == 0) continue;
    free(block[i]);
    block[i] = NULL;
  }
}
static pthread_barrier_t turn;
static void* allocate_and_sleep(void* unused) {
  allocate_all(200);
  pthread_barrier_wait(&turn);  // the main thread frees
  pthread_barrier_wait(&turn);
  return unused;
}

int main(void) {
  if (guarded()) return 0;  // a quarantine keeps what was freed
  free(malloc(1));
  memset(block, 0, sizeof block);
  const size_t most_resident = resident_kib() + 20 * 1024;                        // of 80 MB; records stay
  const size_t most_sparse = most_resident + count / kept_every * 4 + 15 * 1024;  // a page for each block in use
  for (int wave = 0; wave < 6; ++wave) {
    allocate_all(200);
    free_all(0);
  }
  wait_until_small(most_resident);

  allocate_all(200);
  free_all(kept_every);
  wait_until_small(most_sparse);
  free_all(0);

  pthread_t thread;
  CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
  CHECK(pthread_create(&thread, NULL, allocate_and_sleep, NULL) == 0);
  pthread_barrier_wait(&turn);
  free_all(kept_every);
  wait_until_small(most_sparse);
  pthread_barrier_wait(&turn);
  CHECK(pthread_join(thread, NULL) == 0);
  free_all(0);
  return 0;
}
