// A block left alone in quarantine can be used again: nothing is reported.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
#include "../guarded.h"

int main(void) {
  for (int i = 0; i < 30000; ++i) {
    unsigned char* p = malloc((size_t)i % 2000);
    CHECK(i % 2000 == 0 || (p[0] == 0xcd && p[i % 2000 - 1] == 0xcd));
    memset(p, i, (size_t)i % 2000);
    free(p);
  }
  return 0;
}
