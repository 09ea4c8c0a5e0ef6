// For programs on guarded blocks: notes the names in the report's sites.
#ifndef TARN_TESTS_PROGRAMS_GUARDED_H
#define TARN_TESTS_PROGRAMS_GUARDED_H

#include "check.h"

static inline void note_text(const char* name, const char* value) {
  char text[4200];
  int length = snprintf(text, sizeof text, "%s=%s\n", name, value);
  CHECK(length < (int)sizeof text && write(1, text, (size_t)length) == length);
}

// {program}: its path; {thread}: the number of the calling thread; {p}: the block.
static inline void note_guarded(const void* p) {
  char path[4096] = "";
  CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  note_text("program", path);
  note_size("thread", (size_t)gettid());
  note_pointer("p", p);
}

// Frees enough other blocks to drive a freed one out of the quarantine.
static inline void empty_quarantine(void) {
  for (int i = 0; i < 5000; ++i) free(malloc(10));
}

#endif
