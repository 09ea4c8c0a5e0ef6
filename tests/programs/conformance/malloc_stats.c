// malloc_stats writes something for people to stderr, and nothing anywhere else.
//@ broken-by stats_silent
#include <fcntl.h>
#include <sys/mman.h>
#include "../check.h"

int main(void) {
  int caught = memfd_create("stderr", 0), kept = dup(2);
  void* p = malloc(1000);
  CHECK(p != NULL && caught >= 0 && dup2(caught, 2) == 2);
  malloc_stats();
  fflush(stderr);
  CHECK(dup2(kept, 2) == 2);
  char text[4096] = "";
  CHECK(pread(caught, text, sizeof text - 1, 0) > 20);
  CHECK(strpbrk(text, "0123456789") != NULL && strchr(text, '\n') != NULL);
  free(p);
  return 0;
}
