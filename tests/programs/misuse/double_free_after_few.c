// A block freed again after ten others of its size.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 320 bytes
#include "../check.h"

int main(void) {
  void* p[11];
  for (int i = 0; i < 11; ++i) p[i] = malloc(320);
  note_pointer("p", p[0]);
  for (int i = 0; i < 11; ++i) free(p[i]);
  free(hidden(p[0]));
  return 0;
}
