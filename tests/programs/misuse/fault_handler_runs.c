// A handler of SIGABRT runs after the line is written, and may end the program its own way.
//@ tarn-only
//@ exit 6
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ stderr handler
#include <signal.h>
#include "../check.h"

static void handle(int number) {
  if (write(2, "handler\n", 8) == 8) _exit(number);
}

static _Alignas(64) char variable[64];

int main(void) {
  CHECK(signal(SIGABRT, handle) != SIG_ERR);
  note_pointer("p", variable);
  free(hidden(variable));
  return 0;
}
