// realloc and reallocarray.
#include <errno.h>

#include "../cases.h"

// realloc between all pairs of sizes keeps the contents that fit.
//@ broken-by realloc_drops realloc_moves_wrong
CASE(realloc_contents) {
  size_t sizes[64];
  int count = 0;
  for (size_t power = 8; power <= (size_t)4 << 20; power *= 2) {
    sizes[count++] = power - 1;
    sizes[count++] = power;
    if (power < 1 << 16) sizes[count++] = power + power / 2 + 1;
  }
  for (int old = 0; old < count; ++old) {
    for (int new_size_index = 0; new_size_index < count; ++new_size_index) {
      size_t common_size = sizes[old] < sizes[new_size_index] ? sizes[old] : sizes[new_size_index];
      size_t filled_size = common_size > 70000 ? 5000 : common_size;  // head and tail of big blocks are enough
      char* p = malloc(sizes[old]);
      CHECK(p != NULL);
      fill(p, filled_size, (unsigned)old);
      fill(p + common_size - filled_size, filled_size, (unsigned)old + 1);
      p = realloc(p, sizes[new_size_index]);
      CHECK(p != NULL && is_aligned(p, sizes[new_size_index] < 16 ? 8 : 16));
      CHECK(is_filled(p + common_size - filled_size, filled_size, (unsigned)old + 1));
      CHECK(filled_size == common_size || is_filled(p, filled_size, (unsigned)old));
      p[sizes[new_size_index] - 1] = 1;
      free(p);
    }
  }
}

// A realloc that fails gives null and ENOMEM and leaves the block as it was.
//@ broken-by realloc_fail_frees no_errno
CASE(realloc_failure) {
  volatile size_t absurd[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX, SIZE_MAX - 4096, PTRDIFF_MAX};
  const size_t sizes[] = {1, 100, 5000, 300000, (size_t)5 << 20};
  for (int i = 0; i < 5; ++i) {
    char* p = malloc(sizes[i]);
    CHECK(p != NULL);
    fill(p, sizes[i], 9);
    for (int j = 0; j < 4; ++j) {
      errno = 0;
      CHECK(realloc(p, absurd[j]) == NULL);
      CHECK(errno == ENOMEM);
      char* neighbour = malloc(sizes[i]);
      CHECK(neighbour != p);
      memset(neighbour, 0, sizes[i]);
      CHECK(is_filled(p, sizes[i], 9));
      free(neighbour);
    }
    free(p);
  }
}

// Growing by a byte, by doubling and through large sizes keeps every byte, with neighbours between.
//@ broken-by realloc_drops realloc_moves_wrong
CASE(realloc_growth) {
  char* p = NULL;
  for (size_t size = 1; size < 6000; ++size) {
    p = realloc(p, size);
    CHECK(p != NULL);
    p[size - 1] = (char)(size * 31);
    if (size % 64 == 0) free(malloc(size));
  }
  for (size_t i = 1; i < 6000; ++i) CHECK(p[i - 1] == (char)(i * 31));
  size_t filled = 5999;
  fill(p, filled, 3);
  for (size_t size = 8192; size <= (size_t)128 << 20; size = size * 5 / 3) {
    p = realloc(p, size);
    CHECK(p != NULL && is_filled(p, filled, 3));
    filled = size < 1 << 18 ? size : 1 << 18;
    fill(p, filled, 3);
    if (size > filled) p[size - 1] = 'e';
  }
  while (filled > 10) {
    p = realloc(p, filled = filled / 3);
    CHECK(p != NULL && is_filled(p, filled, 3));
  }
  free(p);
}

// A large block that grows in place or moves keeps its whole body; the new part can be written.
//@ broken-by realloc_drops realloc_moves_wrong
CASE(realloc_large_tail) {
  size_t size = (size_t)1 << 20;
  char* p = malloc(size);
  char* wall[24];
  for (size_t i = 0; i < size; i += 512) p[i] = (char)(i >> 9);
  for (int step = 0; step < 24; ++step) {
    wall[step] = malloc(((size_t)1 << 20) + (size_t)step * 4096);  // keeps it from growing forever
    CHECK(wall[step] != NULL);
    size_t larger = size + ((size_t)step + 1) * 100000;
    p = realloc(p, larger);
    CHECK(p != NULL);
    for (size_t i = 0; i < size; i += 512) CHECK(p[i] == (char)(i >> 9));
    for (size_t i = (size + 511) / 512 * 512; i < larger; i += 512) p[i] = (char)(i >> 9);
    size = larger;
  }
  for (int step = 0; step < 24; ++step) free(wall[step]);
  free(p);
}

//@ limit as=1G

// realloc(NULL, n) is malloc; realloc(p, 0) frees p and returns null, as glibc's manual says.
//@ broken-by realloc_zero_kept
CASE(realloc_null_and_zero) {
  char* p = realloc(NULL, 100);
  CHECK(p != NULL);
  memset(p, 1, 100);
  CHECK(realloc(p, 0) == NULL);
  for (int i = 0; i < 400000; ++i) {  // 1.6 GB, were the block not freed
    p = malloc(4000);
    CHECK(p != NULL);
    p[0] = 1;
    CHECK(realloc(p, 0) == NULL);
  }
  for (int i = 0; i < 2000; ++i) CHECK(realloc(malloc(3000000), 0) == NULL);
}

// reallocarray multiplies, and refuses a product that does not fit without touching the block.
//@ broken-by reallocarray_overflow no_errno
CASE(reallocarray) {
  volatile size_t half = SIZE_MAX / 2 + 1;
  int* p = reallocarray(NULL, 1000, sizeof *p);
  CHECK(p != NULL && malloc_usable_size(p) >= 4000);
  fill(p, 4000, 5);
  errno = 0;
  CHECK(reallocarray(p, half, 2) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(p, half / 2 + 1, 4) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(p, SIZE_MAX, 1) == NULL && errno == ENOMEM);
  CHECK(is_filled(p, 4000, 5));
  p = reallocarray(p, 3000, sizeof *p);
  CHECK(p != NULL && is_filled(p, 4000, 5));
  fill(p, 12000, 6);
  free(p);
}
