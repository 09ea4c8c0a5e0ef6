// A number that no integer holds.
//@ tarn-only
//@ env TARN_LIMIT=99999999999999999999999
//@ stderr tarn: option TARN_LIMIT=99999999999999999999999: not a number of bytes from 0 to 140737488355328 (K, M, G,
//@ more KiB, MiB, GiB may follow); 0 is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
