// A name that is no option, and one letter off.
//@ tarn-only
//@ env TARN_LIMITS=1G
//@ stderr tarn: unknown option TARN_LIMITS; did you mean TARN_LIMIT?
#include "../check.h"

int main(void) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
