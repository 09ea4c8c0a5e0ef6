// A block freed again after five thousand others of its size.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

int main(void) {
  enum { count = 5000 };
  static void* p[count];
  for (int i = 0; i < count; ++i) p[i] = malloc(64);
  note_pointer("p", p[0]);
  for (int i = 0; i < count - 1; ++i) free(p[i]);  // the last keeps its slab
  free(hidden(p[0]));
  return 0;
}
