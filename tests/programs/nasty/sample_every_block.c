// With every allocation sampled, a program runs as it does without; the slots and their memory are bounded.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by TARN_SAMPLE_GUARDS=0
#include "../sampled.h"

#include <pthread.h>
#include <sys/wait.h>

enum { blocks = 1000 };

static int is_sampled(char* block, size_t bytes) {
  // Exactly the requested size: no size class of this library is odd.
  return bytes % 2 == 1 && malloc_usable_size(block) == bytes;
}

static void* work(void* unused) {
  for (int i = 0; i < 500; ++i) {
    const size_t bytes = (size_t)(i % 700) * 2 + 1;
    unsigned char* block = malloc(bytes);
    CHECK(block != NULL && (size_t)block % 16 == 0);
    fill(block, bytes, (unsigned)i);
    block = realloc(block, bytes + 300);
    CHECK(block != NULL && is_filled(block, bytes, (unsigned)i));
    free(block);
    void* aligned = aligned_alloc(256, 999);
    CHECK(aligned != NULL && (size_t)aligned % 256 == 0);
    free(aligned);
  }
  return unused;
}

int main(void) {
  static char* kept[blocks];
  int sampled = 0;
  for (int i = 0; i < blocks; ++i) {
    kept[i] = calloc(1, 101);
    for (int byte = 0; byte < 101; ++byte) CHECK(kept[i][byte] == 0);
    memset(kept[i], 0xff, 101);
    sampled += is_sampled(kept[i], 101);
  }
  CHECK(sampled > 100 && sampled <= 128);
  for (int i = 0; i < blocks; ++i) free(kept[i]);
  // Slots are used again, and then are zero again.
  for (int i = 0; i < blocks; ++i) {
    char* block = calloc(1, 101);
    CHECK(is_sampled(block, 101));
    for (int byte = 0; byte < 101; ++byte) CHECK(block[byte] == 0);
    memset(block, 0xff, 101);
    free(block);
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      work(NULL);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
