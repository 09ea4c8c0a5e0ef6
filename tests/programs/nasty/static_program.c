// A static program on libtarn-malloc.a: all of malloc's family, threads, and a fork while they work.
//@ no-preload
//@ tarn-only
//@ broken-by text
#include "../check.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

static void* work(void* unused) {
  for (size_t i = 0; i < 20000; ++i) {
    char* p = malloc(i % 3000);
    CHECK(p != NULL);
    p = realloc(p, i % 5000 + 1);
    CHECK(p != NULL);
    p[i % 5000] = 1;
    free(p);
  }
  return unused;
}

int main(void) {
  void* const small = malloc(1);
  CHECK(malloc_usable_size(small) != 24 && "which the C library's malloc would say");
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      free(small);
      work(NULL);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  void* aligned = NULL;
  CHECK(posix_memalign(&aligned, 4096, 100) == 0 && (size_t)aligned % 4096 == 0);
  free(aligned);
  aligned = aligned_alloc(256, 1000);
  CHECK(aligned != NULL && (size_t)aligned % 256 == 0);
  free(aligned);
  unsigned char* const zeroed = calloc(1000, 100);
  CHECK(zeroed != NULL && zeroed[0] == 0 && zeroed[99999] == 0);
  free(zeroed);
  char* const copy = strdup("by the C library");
  CHECK(copy != NULL && malloc_usable_size(copy) != 24);
  free(copy);
  free(small);
  return 0;
}
