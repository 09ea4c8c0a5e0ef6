// Takes blocks of one size until malloc refuses.
#ifndef TARN_TESTS_PROGRAMS_TAKE_ALL_H
#define TARN_TESTS_PROGRAMS_TAKE_ALL_H

#include <errno.h>
#include "check.h"

// Returns the bytes of the blocks that there were, which are freed again. Fails where they are more than `limit` bytes,
// or where the refusal does not say ENOMEM.
static inline size_t take_all(size_t size, size_t limit) {
  void** last = NULL;
  size_t allocated_bytes = 0;
  errno = 0;
  for (void** block; (block = (void**)malloc(size)) != NULL; last = block) {
    *block = last;
    ((char*)block)[size - 1] = 1;
    allocated_bytes += size;
    CHECK(allocated_bytes <= limit);
  }
  CHECK(errno == ENOMEM);
  while (last != NULL) {
    void** next = (void**)*last;
    free(last);
    last = next;
  }
  return allocated_bytes;
}

// Checks that `expected_bytes` bytes can be had in blocks of many sizes, one size after the other, and three quarters
// of them in small blocks, whose descriptions take room, too.
static inline void check_usable_bytes(size_t expected_bytes) {
  const size_t sizes[] = {1024, 1024, 100, 20000, 300000, 64, 3000000, 1024};
  for (int i = 0; i < 8; ++i) {
    const size_t min_bytes = sizes[i] < 500 ? expected_bytes / 4 * 3 : expected_bytes;
    const size_t extra = block_extra(sizes[i]);
    CHECK(take_all(sizes[i], SIZE_MAX) > min_bytes / (sizes[i] + extra) * sizes[i]);
  }
}

#endif
