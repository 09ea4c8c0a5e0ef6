// A write to a freed block in a forked child, which has its own copy of the quarantine.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: use after free: byte 2 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

#include <signal.h>
#include <sys/wait.h>

int main(void) {
  char* p = malloc(24);
  note_guarded(p);
  free(p);
  if (fork() == 0) {
    ((char*)hidden(p))[2] = 0;
    exit(0);  // faults here
  }
  int status = 0;
  CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  return 0;
}
