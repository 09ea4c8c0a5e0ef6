// The C library allocated the block: the site is in the library.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 5 bytes allocated at
//@ more {libc}+0xADDR by thread {thread}; the first is byte 5
#include "../guarded.h"

#include <dlfcn.h>

int main(void) {
  Dl_info libc;
  CHECK(dladdr(dlsym(RTLD_DEFAULT, "strdup"), &libc) != 0);
  note_text("libc", libc.dli_fname);
  char* p = strdup("four");
  note_guarded(p);
  ((char*)hidden(p))[5] = 0;
  free(p);
  return 0;
}
