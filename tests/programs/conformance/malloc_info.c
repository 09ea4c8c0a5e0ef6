// malloc_info writes one well-formed document with a root <malloc version="1">.
//@ xml
//@ broken-by info_not_xml
#include "../check.h"

int main(void) {
  void* small = malloc(100);
  void* large = malloc((size_t)9 << 20);
  CHECK(malloc_info(0, stdout) == 0);
  CHECK(malloc_info(1, stdout) != 0);
  free(small);
  free(large);
  return 0;
}
