// Looks up an address in /proc/self/maps without allocating.
#ifndef TARN_TESTS_PROGRAMS_MAPS_H
#define TARN_TESTS_PROGRAMS_MAPS_H

#include <fcntl.h>
#include "check.h"

struct range {
  char* start;
  char* end;
  char access[5];  // for example rw-p; empty: no mapping
};

static inline struct range mapping_of(const void* address) {
  static char text[1 << 20];
  const int file = open("/proc/self/maps", O_RDONLY);
  CHECK(file >= 0);
  size_t length = 0;
  for (ssize_t got; (got = read(file, text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
  close(file);
  text[length] = 0;
  struct range none = {0};
  for (char* line = text; *line != 0;) {
    char* rest = NULL;
    struct range found = {0};
    found.start = (char*)strtoul(line, &rest, 16);
    found.end = (char*)strtoul(rest + 1, &rest, 16);
    memcpy(found.access, rest + 1, 4);
    if ((const char*)address >= found.start && (const char*)address < found.end) return found;
    char* const next = strchr(line, '\n');
    if (next == NULL) break;
    line = next + 1;
  }
  return none;
}

#endif
