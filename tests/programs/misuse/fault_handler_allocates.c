// A SIGABRT handler that allocates, as crash reporters do, does not hang on a lock held at the fault.
//@ tarn-only
//@ exit 6
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 1048576-byte block at {block}
#include <signal.h>
#include "../check.h"

static void handle(int number) {
  for (size_t size = 1; size < 3000000; size *= 2) free(malloc(size));
  _exit(number);
}

int main(void) {
  char* block = malloc(1 << 20);
  CHECK(signal(SIGABRT, handle) != SIG_ERR && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 8);
  free(hidden(block + 8));
  return 0;
}
