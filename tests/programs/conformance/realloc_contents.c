// realloc between all pairs of sizes keeps the contents that fit.
//@ broken-by realloc_drops realloc_moves_wrong
#include "../check.h"

int main(void) {
  size_t sizes[64];
  int count = 0;
  for (size_t power = 8; power <= (size_t)4 << 20; power *= 2) {
    sizes[count++] = power - 1;
    sizes[count++] = power;
    if (power < 1 << 16) sizes[count++] = power + power / 2 + 1;
  }
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      size_t kept = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
      size_t shown = kept > 70000 ? 5000 : kept;  // head and tail of big blocks are enough
      char* p = malloc(sizes[from]);
      CHECK(p != NULL);
      fill(p, shown, (unsigned)from);
      fill(p + kept - shown, shown, (unsigned)from + 1);
      p = realloc(p, sizes[to]);
      CHECK(p != NULL && is_aligned(p, sizes[to] < 16 ? 8 : 16));
      CHECK(is_filled(p + kept - shown, shown, (unsigned)from + 1));
      CHECK(shown == kept || is_filled(p, shown, (unsigned)from));
      p[sizes[to] - 1] = 1;
      free(p);
    }
  }
  return 0;
}
