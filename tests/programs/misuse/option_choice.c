// A choice that is not offered.
//@ tarn-only
//@ env TARN_STATS=yes
//@ stderr tarn: option TARN_STATS=yes: not one of off, text, json, openmetrics; off is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
