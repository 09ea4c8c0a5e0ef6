// A value with a backslash is shown escaped.
//@ tarn-only
//@ env TARN_STATS=a"b\c
//@ stderr tarn: option TARN_STATS=a"b\\c: not one of off, text, json, openmetrics; off is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
