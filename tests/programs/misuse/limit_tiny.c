// A limit too small for anything: every malloc is refused, nothing crashes.
//@ tarn-only
//@ env TARN_LIMIT=4K
#include <errno.h>
#include "../check.h"

int main(void) {
  for (int i = 0; i < 1000; ++i) {
    errno = 0;
    CHECK(malloc((size_t)i * 100 + 8192) == NULL && errno == ENOMEM);
  }
  return 0;
}
