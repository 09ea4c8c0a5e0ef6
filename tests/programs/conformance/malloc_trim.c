// malloc_trim gives memory of freed blocks back: resident memory falls, and live blocks survive.
//@ broken-by trim_nothing
#include "../check.h"

int main(void) {
  enum { count = 100000 };
  static void* p[count];
  for (int i = 0; i < count; ++i) {
    p[i] = malloc(1000);
    memset(p[i], 1, 1000);
  }
  CHECK(resident_bytes() > (size_t)90 << 20);
  for (int i = 0; i < count; ++i) {
    if (i % 1000 != 999) free(p[i]);
  }
  int released = malloc_trim(0);
  CHECK(released == 0 || released == 1);
  CHECK(resident_bytes() < (size_t)30 << 20);
  for (int i = 999; i < count; i += 1000) {
    CHECK(((char*)p[i])[999] == 1);
    free(p[i]);
  }
  return 0;
}
