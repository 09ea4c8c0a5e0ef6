// A flag that is neither 0 nor 1.
//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=maybe
//@ stderr tarn: option TARN_BACKGROUND_PURGE=maybe: not one of 0, 1, off, on; 1 is used
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
