// A number with an unknown unit.
//@ tarn-only
//@ env TARN_LIMIT=12Q
//@ stderr tarn: option TARN_LIMIT=12Q: not a number of bytes from 0 to 140737488355328 (K, M, G, KiB, MiB, GiB may
//@ more follow); 0 is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
