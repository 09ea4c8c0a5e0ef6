// By default about one in 5,000 allocations is sampled, and none before 2,500.
//@ tarn-only
//@ env TARN_GUARD=0
//@ broken-by TARN_SAMPLE_GUARDS=0
#include "../sampled.h"

#include <signal.h>
#include <time.h>

static int is_sampling(void) {
  struct sigaction action;
  CHECK(sigaction(SIGSEGV, NULL, &action) == 0);
  return action.sa_handler != SIG_DFL;
}

int main(void) {
  for (int i = 0; i < 2000; ++i) CHECK(malloc(20) != NULL);
  CHECK(!is_sampling());
  // Blocks that stay, so that the heap needs new ones all the time.
  for (int i = 0; i < 20000 && !is_sampling(); ++i) CHECK(malloc(20) != NULL);
  CHECK(is_sampling());
  return 0;
}
