// A child uses a sampled block that its parent freed: it has the records, too.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 1 of the block of 24 bytes at {p} is written at {program}+0xADDR by thread {child}
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

#include <signal.h>
#include <sys/wait.h>

int main(void) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  free_block((char*)p);
  if (fork() == 0) {
    free(malloc(24));
    note_size("child", (size_t)gettid());
    p[1] = 0;
  }
  int status;
  CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  raise(SIGABRT);
  return 0;
}
