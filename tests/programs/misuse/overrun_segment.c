// A linear overflow behind the last block of a segment meets a guard at once: it reaches neither the records of the
// heap nor another mapping.
//@ tarn-only
//@ env TARN_GUARD=0
//@ stderr {end}: no access
#include <signal.h>
#include "../check.h"
#include "../maps.h"

#define COUNT 300
#define BYTES ((size_t)1 << 20)

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  char text[64];
  const int length = snprintf(text, sizeof text, "0x%lx: no access\n", (unsigned long)(uintptr_t)info->si_addr);
  _exit(write(2, text, (size_t)length) == length ? 0 : 1);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  static char* blocks[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    blocks[i] = malloc(BYTES);
    CHECK(blocks[i] != NULL && malloc_usable_size(blocks[i]) == BYTES);
  }
  for (int i = 0; i < COUNT; ++i) {
    const struct range writable = mapping_of(blocks[i]);
    if (writable.end == blocks[i] + BYTES) {
      note_pointer("end", blocks[i] + BYTES);
      for (size_t at = 0; at < 4 * BYTES; ++at) ((volatile char*)blocks[i])[at] = 0x41;
    }
  }
  return 1;
}
