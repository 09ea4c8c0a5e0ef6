// mallinfo2 and mallinfo follow what is in use: up with 128 MiB of blocks, down when they are freed.
//@ broken-by mallinfo_empty
#include "../check.h"

static size_t in_use(void) {
  struct mallinfo2 info = mallinfo2();
  CHECK(info.arena + info.hblkhd >= info.uordblks);
  return info.uordblks + info.hblkhd;
}

int main(void) {
  enum { count = 131072 };
  static void* p[count];
  size_t before = in_use();
  for (int i = 0; i < count; ++i) p[i] = malloc(1000);
  size_t small = in_use();
  CHECK(small - before >= (size_t)count * 1000 && small - before < (size_t)count * 1300);
  void* large = malloc((size_t)50 << 20);
  CHECK(large != NULL && in_use() - small >= (size_t)50 << 20);
  free(large);
  for (int i = 0; i < count; ++i) free(p[i]);
  CHECK(in_use() < before + (small - before) / 4);  // some may wait in caches and count as used
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  p[0] = malloc(100000);
  struct mallinfo narrow = mallinfo();
  CHECK(narrow.uordblks + narrow.hblkhd >= 100000);
  free(p[0]);
  return 0;
}
