// longjmp out of deep calls between allocations, from several threads: no lock or state is left.
//@ broken-by malloc_overlap
#include <pthread.h>
#include <setjmp.h>
#include "../check.h"

struct frame {
  jmp_buf back;
  char* kept[64];
  int used;
};

static void dive(struct frame* f, int depth) {
  char* p = malloc((size_t)depth * 30 + 1);
  CHECK(p != NULL);
  fill(p, (size_t)depth * 30 + 1, (unsigned)depth);
  f->kept[f->used++] = p;
  if (depth >= 60) longjmp(f->back, 1);
  dive(f, depth + 1);
}

static void* work(void* argument) {
  for (int round = 0; round < 3000; ++round) {
    struct frame* f = malloc(sizeof *f);
    f->used = 0;
    if (setjmp(f->back) == 0) dive(f, round % 50);
    for (int i = 0; i < f->used; ++i) {
      size_t depth = (size_t)(round % 50 + i);
      CHECK(is_filled(f->kept[i], depth * 30 + 1, (unsigned)depth));
      free(f->kept[i]);
    }
    free(f);
  }
  return argument;
}

int main(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  work(NULL);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
