// Where the address space is small, nothing is sampled, and the program runs.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by text
//@ limit as=64M
#include "../sampled.h"

#include <signal.h>

int main(void) {
  for (int i = 0; i < 100; ++i) {
    char* const block = malloc(101);
    CHECK(block != NULL && malloc_usable_size(block) != 101);
  }
  struct sigaction action;
  CHECK(sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
  return 0;
}
