// A class whose blocks are freed and taken again all the time is sampled, too: its magazine is emptied now and then.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=2
//@ env TARN_PURGE_DELAY_MS=4
//@ env TARN_GUARD=0
//@ broken-by TARN_SAMPLE_GUARDS=0
#include "../sampled.h"

#include <time.h>

enum { burst = 16 };

int main(void) {
  static char* blocks[burst];
  const time_t give_up = time(NULL) + 60;  // for the case that it never comes
  int sampled = 0;
  while (!sampled && time(NULL) < give_up) {
    for (int pair = 0; pair < 100; ++pair) {
      char* const block = malloc(599);
      sampled |= malloc_usable_size(block) == 599;
      free(block);
    }
    // These need more than one magazine, so that the heap has slow calls, in which it looks at the clock. They are too
    // large for a slot.
    for (int i = 0; i < burst; ++i) CHECK((blocks[i] = malloc(20000)) != NULL);
    for (int i = 0; i < burst; ++i) free(blocks[i]);
  }
  CHECK(sampled);
  return 0;
}
