// Blocks of threads that ended are freed, grown and measured by others; their room is used again.
//@ broken-by orphan_lost orphan_leak
#include <pthread.h>
#include "../check.h"

enum { count = 3000 };
static char* p[count];

static void* make(void* argument) {
  for (int i = 0; i < count; ++i) {
    size_t size = (size_t)i % 997 * 5 + 10 + (i % 100 ? 0 : 100000);
    p[i] = i % 9 ? malloc(size) : aligned_alloc(128, size);
    fill(p[i], 10, (unsigned)i);
  }
  return argument;
}

static void* release(void* argument) {
  for (int i = 0; i < count; ++i) {
    CHECK(is_filled(p[i], 10, (unsigned)i));
    CHECK(malloc_usable_size(p[i]) >= 10);
    if (i % 3 == 0) {
      p[i] = realloc(p[i], 6000);
      CHECK(p[i] != NULL && is_filled(p[i], 10, (unsigned)i));
    }
    free(p[i]);
  }
  return argument;
}

int main(void) {
  size_t early = 0;
  for (int round = 0; round < 40; ++round) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, make, NULL) == 0 && pthread_join(thread, NULL) == 0);
    if (round % 2) {
      release(NULL);
    } else {
      CHECK(pthread_create(&thread, NULL, release, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    if (round == 5) early = resident_bytes();
  }
  CHECK(resident_bytes() < early + ((size_t)20 << 20));
  return 0;
}
