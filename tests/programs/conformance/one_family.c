// Blocks of every allocating function go to every releasing one.
//@ broken-by memalign_not_freeable
#include "../check.h"

static void* make(int kind, size_t size) {
  void* p = NULL;
  switch (kind) {
    case 0: return malloc(size);
    case 1: return calloc(1, size);
    case 2: return realloc(NULL, size);
    case 3: return reallocarray(NULL, size, 1);
    case 4: return aligned_alloc(32, size);
    case 5: return memalign(64, size);
    case 6: return valloc(size);
    case 7: return pvalloc(size);
    case 8: return memset(malloc(size + 1), 'a', size);
    default: return posix_memalign(&p, 128, size) == 0 ? p : NULL;
  }
}

int main(void) {
  for (int kind = 0; kind < 10; ++kind) {
    for (size_t size = 1; size < 3000000; size = size * 5 + 1) {
      for (int release = 0; release < 3; ++release) {
        char* p = make(kind, size);
        CHECK(p != NULL);
        fill(p, size, (unsigned)kind);
        if (release == 1) p = realloc(p, size + 100);
        if (release == 2) p = reallocarray(p, size, 3);
        CHECK(p != NULL && is_filled(p, size, (unsigned)kind) && malloc_usable_size(p) >= size);
        free(p);
      }
    }
  }
  return 0;
}
