// realloc of a block that was freed.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: realloc({p}): double free of a block of 64 bytes
#include "../check.h"

int main(void) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  return realloc(hidden(p), 1000) != NULL;
}
