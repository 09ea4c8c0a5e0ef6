// Standard error is a pipe that nobody reads: the fault ends the program, it does not hang.
//@ tarn-only
//@ broken-by free_leaks
//@ signal ABRT
#include <fcntl.h>
#include <signal.h>
#include "../check.h"

int main(void) {
  int ends[2];
  signal(SIGPIPE, SIG_IGN);
  CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2 && close(ends[0]) == 0 && close(ends[1]) == 0);
  void* p = malloc(64);
  free(p);
  free(hidden(p));
  return 0;
}
