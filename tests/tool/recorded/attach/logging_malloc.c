// A malloc that writes into its standard error while it allocates LOGGED_BYTES, more than a pipe holds.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

extern void* __libc_malloc(size_t bytes);

void* malloc(size_t bytes) {
  enum { LINES = 200 };
  if (bytes == LOGGED_BYTES) {
    char text[1024];
    memset(text, '.', sizeof text);
    fprintf(stderr, "ready\n");
    for (int line = 0; line < LINES; ++line) fprintf(stderr, "%.*s\n", (int)sizeof text, text);
  }
  void* volatile const start = __libc_malloc(bytes);
  return start;
}
