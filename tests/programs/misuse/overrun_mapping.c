// A linear overflow behind a block of 40 MiB, and one before it, meet a guard at once, although there are others.
//@ tarn-only
//@ env TARN_GUARD=0
//@ stderr {end}: no access
//@ stderr {before}: no access
#include <setjmp.h>
#include <signal.h>
#include "../check.h"

static sigjmp_buf resume;

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  char text[64];
  const int length = snprintf(text, sizeof text, "0x%lx: no access\n", (unsigned long)(uintptr_t)info->si_addr);
  if (write(2, text, (size_t)length) != length) _exit(1);
  siglongjmp(resume, 1);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  const size_t bytes = (size_t)40 << 20;
  volatile char* blocks[5];
  for (int i = 0; i < 5; ++i) {
    blocks[i] = malloc(bytes);
    CHECK(blocks[i] != NULL && malloc_usable_size((void*)blocks[i]) == bytes);
  }
  volatile char* const block = blocks[2];
  note_pointer("end", (char*)block + bytes);
  note_pointer("before", (char*)block - 1);
  for (volatile int turn = 0; turn < 2;) {
    if (sigsetjmp(resume, 1) != 0) {
      ++turn;
      continue;
    }
    for (ptrdiff_t at = 0; at < (ptrdiff_t)bytes; ++at) block[turn == 0 ? (ptrdiff_t)bytes - 1 + at : -at] = 0x41;
    return 1;
  }
  free((void*)block);  // nothing of the heap was hurt
  CHECK(malloc(bytes) != NULL);
  return 0;
}
