// /proc/self/maps shows inaccessible memory on both sides of what the heap maps, also of a block that realloc made
// larger or smaller, and the records of the heap lie in a mapping without a block.
//@ broken-by plain
#include "../check.h"
#include "../maps.h"

static void expect_guarded(const char* block) {
  const struct range around = mapping_of(block);
  CHECK(memcmp(around.access, "rw-p", 4) == 0);
  const struct range below = mapping_of(around.start - 1);
  const struct range above = mapping_of(around.end);
  CHECK(memcmp(below.access, "---p", 4) == 0 && below.end == around.start);
  CHECK(memcmp(above.access, "---p", 4) == 0 && above.start == around.end);
}

int main(void) {
  char* small = malloc(100);
  char* medium = malloc(300000);
  expect_guarded(small);
  expect_guarded(medium);
  char* large = malloc((size_t)40 << 20);
  for (int step = 0; step < 12; ++step) {
    CHECK(large != NULL);
    expect_guarded(large);
    large[0] = 1;
    large = realloc(large, (size_t)(step % 3 == 2 ? 35 : 40 + 7 * step) << 20);
  }
  free(large);
  free(medium);
  free(small);
  return 0;
}
