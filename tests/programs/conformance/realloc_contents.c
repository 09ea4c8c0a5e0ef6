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
  for (int old = 0; old < count; ++old) {
    for (int new_size_index = 0; new_size_index < count; ++new_size_index) {
      size_t kept = sizes[old] < sizes[new_size_index] ? sizes[old] : sizes[new_size_index];
      size_t shown = kept > 70000 ? 5000 : kept;  // head and tail of big blocks are enough
      char* p = malloc(sizes[old]);
      CHECK(p != NULL);
      fill(p, shown, (unsigned)old);
      fill(p + kept - shown, shown, (unsigned)old + 1);
      p = realloc(p, sizes[new_size_index]);
      CHECK(p != NULL && is_aligned(p, sizes[new_size_index] < 16 ? 8 : 16));
      CHECK(is_filled(p + kept - shown, shown, (unsigned)old + 1));
      CHECK(shown == kept || is_filled(p, shown, (unsigned)old));
      p[sizes[new_size_index] - 1] = 1;
      free(p);
    }
  }
  return 0;
}
