// Freed by the parent, then by a child made after that.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

#include <signal.h>
#include <sys/wait.h>

int main(void) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  pid_t child = fork();
  if (child == 0) free(hidden(p));
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  kill(getpid(), WTERMSIG(status));
  return 0;
}
