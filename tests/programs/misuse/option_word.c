// A word for a number: one line, the default, and the program runs.
//@ tarn-only
//@ env TARN_PURGE_DELAY_MS=abc
//@ stderr tarn: option TARN_PURGE_DELAY_MS=abc: not a number of milliseconds from 0 to 3600000; 500 is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
