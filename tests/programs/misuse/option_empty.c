// An option without a value.
//@ tarn-only
//@ env TARN_PURGE_DELAY_MS=
//@ stderr tarn: option TARN_PURGE_DELAY_MS=: not a number of milliseconds from 0 to 3600000; 500 is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
