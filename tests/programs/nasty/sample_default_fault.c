// Without a handler of the program, a fault elsewhere ends it by SIGSEGV, and so does a signal that is sent.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by TARN_SAMPLE_GUARDS=0
#include "../sampled.h"

#include <signal.h>
#include <sys/wait.h>

int main(void) {
  for (int way = 0; way < 3; ++way) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      free(make_at_end(24));
      struct sigaction now;
      CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler != SIG_DFL);
      if (way == 0) *(volatile char*)8 = 1;
      if (way == 1) raise(SIGSEGV);
      if (way == 2) kill(getpid(), SIGSEGV);
      sleep(10);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  }
  return 0;
}
