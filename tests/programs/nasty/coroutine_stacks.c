// Coroutines on 16 KiB stacks of their own allocate, switch and free each other's blocks.
//@ broken-by big_stack
#include <sys/mman.h>
#include <ucontext.h>
#include "../check.h"

enum { count = 20, stack = 16384 };
static ucontext_t main_context, contexts[count];
static char* shared[count];

static void body(int number) {
  for (int step = 0; step < 200; ++step) {
    int slot = (number + step) % count;
    CHECK(shared[slot] == NULL || is_filled(shared[slot], 50, (unsigned)slot));
    free(shared[slot]);
    shared[slot] = malloc((size_t)step * 400 + 50);
    CHECK(shared[slot] != NULL);
    fill(shared[slot], 50, (unsigned)slot);
    swapcontext(&contexts[number], &main_context);
  }
}

int main(void) {
  for (int i = 0; i < count; ++i) {
    getcontext(&contexts[i]);
    char* room = mmap(NULL, stack + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED && mprotect(room, 4096, PROT_NONE) == 0);
    contexts[i].uc_stack.ss_sp = room + 4096;
    contexts[i].uc_stack.ss_size = stack;
    contexts[i].uc_link = &main_context;
    makecontext(&contexts[i], (void (*)(void))body, 1, i);
  }
  for (int step = 0; step < 200; ++step) {
    for (int i = 0; i < count; ++i) swapcontext(&main_context, &contexts[i]);
  }
  for (int i = 0; i < count; ++i) free(shared[i]);
  return 0;
}
