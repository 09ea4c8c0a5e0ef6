// Blocks in quarantine are given up before an allocation fails.
//@ tarn-only
//@ env TARN_GUARD=1
//@ env TARN_LIMIT=12M
//@ broken-by nothing TARN_GUARD=0
#include "../guarded.h"

int main(void) {
  for (int i = 0; i < 200; ++i) {
    char* p = malloc(1 << 20);
    CHECK(p != NULL && (unsigned char)p[0] == 0xcd);
    free(p);
  }
  return 0;
}
