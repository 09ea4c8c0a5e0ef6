// The largest size that comes from a size class, freed twice.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 262144 bytes
#include "../check.h"

int main(void) {
  void* keep = malloc(262144);
  void* p = malloc(262144);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return keep == NULL;
}
