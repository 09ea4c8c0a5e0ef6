// free of an address where nothing is mapped.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

#include <sys/mman.h>

int main(void) {
  char* p = mmap(NULL, (size_t)1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED && munmap(p, (size_t)1 << 30) == 0);
  note_pointer("p", p + ((size_t)1 << 29));
  free(hidden(p + ((size_t)1 << 29)));
  return 0;
}
