// qsort of large elements and of a large array borrows memory from malloc.
//@ broken-by malloc_short
#include "../check.h"

struct row {
  unsigned key;
  char body[252];
};

static int compare(const void* a, const void* b) {
  unsigned x = ((const struct row*)a)->key, y = ((const struct row*)b)->key;
  return x < y ? -1 : x > y;
}

int main(void) {
  enum { count = 20000 };
  struct row* rows = malloc(count * sizeof *rows);
  unsigned state = 3;
  CHECK(rows != NULL);
  for (int i = 0; i < count; ++i) {
    rows[i].key = next_random(&state);
    memset(rows[i].body, (char)rows[i].key, sizeof rows[i].body);
  }
  qsort(rows, count, sizeof *rows, compare);
  for (int i = 0; i < count; ++i) {
    CHECK(i == 0 || rows[i - 1].key <= rows[i].key);
    CHECK(rows[i].body[251] == (char)rows[i].key);
  }
  free(rows);
  return 0;
}
