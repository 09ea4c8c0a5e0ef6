// realloc(NULL, n) is malloc; realloc(p, 0) frees p and returns null, as glibc's manual says.
//@ broken-by realloc_zero_kept
#include "../check.h"

int main(void) {
  char* p = realloc(NULL, 100);
  CHECK(p != NULL);
  memset(p, 1, 100);
  CHECK(realloc(p, 0) == NULL);
  for (int i = 0; i < 400000; ++i) {  // 1.6 GB, were the block not freed
    p = malloc(4000);
    CHECK(p != NULL);
    p[0] = 1;
    CHECK(realloc(p, 0) == NULL);
  }
  for (int i = 0; i < 2000; ++i) CHECK(realloc(malloc(3000000), 0) == NULL);
  return 0;
}
//@ limit as=1G
