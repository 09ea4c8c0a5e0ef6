// calloc.
#include <errno.h>

#include "../cases.h"

static void refused(size_t count, size_t size) {
  errno = 0;
  CHECK(calloc(count, size) == NULL);
  CHECK(errno == ENOMEM);
}

// A product that does not fit is refused with ENOMEM, whichever factor is the big one.
//@ broken-by calloc_overflow no_errno
CASE(calloc_overflow) {
  volatile size_t half = SIZE_MAX / 2 + 1;  // volatile: the compiler must not see the overflow
  refused(half, 2);
  refused(2, half);
  refused(half, half);
  refused(SIZE_MAX / 8 + (half ? 1 : 0), 8 + (half ? 1 : 0));
  refused(SIZE_MAX, 16);
  refused(((size_t)1 << 32) + 1, (size_t)1 << 32);
  refused(SIZE_MAX, 1);
  void* p = calloc(0, half);
  CHECK(p != NULL);
  free(p);
}

// Big callocs are zero after dirty frees, also where a smaller or larger block stood before.
//@ broken-by calloc_dirty calloc_tail
CASE(calloc_zero_large) {
  const size_t sizes[] = {(size_t)2 << 20,       (size_t)33 << 20, (size_t)3 << 20, (size_t)16 << 20,
                          ((size_t)4 << 20) + 1, (size_t)64 << 20, (size_t)5 << 20};
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      char* dirty = malloc(sizes[i]);
      CHECK(dirty != NULL);
      memset(dirty, 0xa5, sizes[i]);
      dirty = realloc(dirty, sizes[i] / 2);
      CHECK(dirty != NULL);
      free(dirty);
      char* clean = calloc(sizes[i] / 8, 8);
      CHECK(clean != NULL && is_zero(clean, sizes[i] / 8 * 8));
      memset(clean, 0x5a, sizes[i] / 8 * 8);
      free(clean);
    }
  }
}

// calloc stays zero when memory wanders between sizes: fill, free, ask again for other sizes.
//@ broken-by calloc_dirty calloc_tail
CASE(calloc_zero_mixed) {
  enum { count = 256 };
  static char* p[count];
  unsigned state = 7;
  for (int step = 0; step < 40000; ++step) {
    unsigned slot = next_random(&state) % count;
    free(p[slot]);
    size_t size = (size_t)1 << (next_random(&state) % 17);
    size += next_random(&state) % size;
    p[slot] = calloc(size, 1);
    CHECK(p[slot] != NULL && is_zero(p[slot], size));
    memset(p[slot], 0xff, malloc_usable_size(p[slot]));
  }
  for (int i = 0; i < count; ++i) free(p[i]);
}

static void try_size(size_t size) {
  enum { count = 3 };
  void* p[count];
  for (int i = 0; i < count; ++i) {
    p[i] = malloc(size);
    CHECK(p[i] != NULL);
    memset(p[i], 0xa5, malloc_usable_size(p[i]));
  }
  for (int i = 0; i < count; ++i) free(p[i]);
  for (int i = 0; i < count; ++i) {
    p[i] = calloc(i == 1 ? size : 1, i == 1 ? 1 : size);
    CHECK(p[i] != NULL && is_zero(p[i], size));
  }
  for (int i = 0; i < count; ++i) free(p[i]);
}

// calloc gives zeros although the blocks of that size were dirty when they were freed.
//@ broken-by calloc_dirty calloc_tail
CASE(calloc_zero_small) {
  for (size_t size = 1; size <= 4200; ++size) try_size(size);
  for (size_t size = 4201; size <= 70000; size += 61) try_size(size);
  for (size_t size = 70001; size <= (size_t)2 << 20; size += 20011) try_size(size);
  for (size_t power = 1 << 13; power <= (size_t)2 << 20; power *= 2) {
    for (int step = -1; step <= 1; ++step) try_size(power + (size_t)step);
  }
}
