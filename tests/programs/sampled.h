// For programs with sampled guards (TARN_SAMPLE_GUARDS=1: each allocation is sampled while slots are left).
#ifndef TARN_TESTS_PROGRAMS_SAMPLED_H
#define TARN_TESTS_PROGRAMS_SAMPLED_H

#include "guarded.h"

enum { page_bytes = 4096 };

// Two functions of their own, so that a stack has more than one frame of the program.
static inline char* make_block(size_t bytes) {
  char* block = (char*)malloc(bytes);
  CHECK(block != NULL);
  return block;
}
static inline void free_block(void* block) { free(hidden(block)); }

// Returns a block at the end, or at the start, of its pages. The places alternate.
static inline char* make_at(size_t bytes, int at_end) {
  for (int tries = 0; tries < 4; ++tries) {
    char* block = make_block(bytes);
    const size_t offset = (size_t)block % page_bytes;
    if (at_end ? (offset + bytes + 15) / 16 * 16 % page_bytes == 0 : offset == 0) return block;
  }
  CHECK(!"a sampled block at that end of its pages");
  return NULL;
}
static inline char* make_at_end(size_t bytes) { return make_at(bytes, 1); }
static inline char* make_at_start(size_t bytes) { return make_at(bytes, 0); }

#endif
