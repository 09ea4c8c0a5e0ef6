// Well-formed options are silent.
//@ tarn-only
//@ broken-by TARN_STATS=x
//@ env TARN_PURGE_DELAY_MS=0
//@ env TARN_STATS=off
//@ env TARN_THP=off
//@ env TARN_LIMIT=1GiB
//@ env TARN_INITIAL=2M
//@ env TARN_INCREMENT=4MiB
//@ env TARN_BACKGROUND_PURGE=0
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
