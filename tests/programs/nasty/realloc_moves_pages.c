// Large blocks that cannot grow where they are keep their contents, and their pages move instead of being copied.
//@ tarn-only
//@ broken-by realloc_drops
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../check.h"

enum { first_bytes = 4 << 20, last_bytes = 64 << 20 };

static long page_faults(void) {
  struct rusage used;
  CHECK(getrusage(RUSAGE_SELF, &used) == 0);
  return used.ru_minflt;
}

// Kernels before 5.7 cannot do it, and some sandboxes do not allow it: there the pages are copied.
static int pages_can_move(void) {
  const long page = sysconf(_SC_PAGESIZE);
  void* probe = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(probe != MAP_FAILED);
  return madvise(probe, (size_t)page, MADV_COLD) == 0 &&
         mremap(probe, (size_t)page, (size_t)page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL) != MAP_FAILED;
}

static void* grow_two(void* unused) {
  (void)unused;
  char* blocks[2];
  for (int i = 0; i < 2; ++i) {
    blocks[i] = malloc(first_bytes);
    CHECK(blocks[i] != NULL);
    fill(blocks[i], first_bytes, (unsigned)i);
  }
  for (size_t bytes = first_bytes; bytes < last_bytes; bytes *= 2) {
    for (int i = 0; i < 2; ++i) {
      blocks[i] = realloc(blocks[i], 2 * bytes);
      CHECK(blocks[i] != NULL && is_filled(blocks[i], first_bytes, (unsigned)i));
    }
  }
  for (int i = 0; i < 2; ++i) {
    blocks[i] = realloc(blocks[i], first_bytes / 2);
    CHECK(blocks[i] != NULL && is_filled(blocks[i], first_bytes / 2, (unsigned)i));
    free(blocks[i]);
  }
  return NULL;
}

int main(void) {
  const long page = sysconf(_SC_PAGESIZE);
  grow_two(NULL);
  const long before = page_faults();
  grow_two(NULL);
  const long faults = page_faults() - before;
  // The contents are two blocks of first_bytes. A copy touches as many pages again.
  if (pages_can_move() && !guarded()) {
    CHECK(faults < 3L * first_bytes / page);
  }

  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, grow_two, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      grow_two(NULL);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
