// free of a foreign pointer as the first call into the allocator.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

#include <sys/mman.h>

int main(void) {
  void* p = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  note_pointer("p", p);
  free(p);
  return 0;
}
