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
  for (ssize_t count; (count = read(file, text + length, sizeof text - 1 - length)) > 0;) length += (size_t)count;
  close(file);
  text[length] = 0;
  struct range no_mapping = {0};
  for (char* line = text; *line != 0;) {
    char* end = NULL;
    struct range mapping = {0};
    mapping.start = (char*)strtoul(line, &end, 16);
    mapping.end = (char*)strtoul(end + 1, &end, 16);
    memcpy(mapping.access, end + 1, 4);
    if ((const char*)address >= mapping.start && (const char*)address < mapping.end) return mapping;
    char* const next = strchr(line, '\n');
    if (next == NULL) break;
    line = next + 1;
  }
  return no_mapping;
}

#endif
