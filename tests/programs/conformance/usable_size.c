// malloc_usable_size is at least what was asked for, 0 for null, and all of it may be written.
//@ broken-by usable_large usable_null malloc_overlap
#include "../check.h"

int main(void) {
  enum { count = 600 };
  static void* p[count];
  static size_t usable[count];
  CHECK(malloc_usable_size(NULL) == 0);
  for (int i = 0; i < count; ++i) {
    size_t size = (size_t)i * i / 2;
    p[i] = i % 4 == 3 ? aligned_alloc(128, size) : i % 4 == 2 ? calloc(1, size) : malloc(size);
    usable[i] = malloc_usable_size(p[i]);
    CHECK(usable[i] >= size);
    CHECK(usable[i] <= size + size / 4 + 4096);
    memset(p[i], i & 0xff, usable[i]);
  }
  for (int i = 0; i < count; ++i) {
    unsigned char* bytes = p[i];
    for (size_t j = 0; j < usable[i]; j += 9) CHECK(bytes[j] == (i & 0xff));
    free(p[i]);
  }
  return 0;
}
