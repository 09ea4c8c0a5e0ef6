// Every malformed option has its line; good ones beside them count.
//@ tarn-only
//@ env TARN_THP=never
//@ env TARN_PURGE_DELAY_MS=0
//@ env TARN_INITIAL=x
//@ stderr tarn: option TARN_THP=never: not one of auto, on, off; auto is used
//@ stderr tarn: option TARN_INITIAL=x: not a number of bytes from 0 to 140737488355328 (K, M, G, KiB, MiB, GiB may
//@ more follow); 0 is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
