// Has stacks that are hard to walk: each calls stop() with its own number. unwinding_test.py compares the
// recorder's view of them with gdb's.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { base = 700000 };

// Makes one allocation of the given size. gdb stops at its first instruction.
__attribute__((noipa)) void stop(size_t bytes) {
  void* volatile block = malloc(bytes);
  free(block);
}

// Frames of many sizes, on registers that are saved here and there.
__attribute__((noipa)) static long narrow(long a, long b, long c, long d) {
  stop(base + 1);
  return a + b * c - d;
}
__attribute__((noipa)) static long wide(long a) {
  volatile char room[3000];
  memset((void*)room, (int)a, sizeof room);
  return narrow(a, room[1], room[2], room[3]) + room[4];
}
// The frame's size is known only at run time.
__attribute__((noipa)) static long growing(long a) {
  volatile char* const room = alloca((size_t)(a * 100 + 16));
  room[0] = 1;
  return wide(a) + room[0];
}
__attribute__((noipa)) static long chain(long a) { return growing(a) + growing(a + 1); }

// Calls through the C library and back.
static int compare(const void* a, const void* b) {
  const int result = *(const int*)a - *(const int*)b;
  static int once = 0;
  if (once++ == 0) stop(base + 2);
  return result;
}
__attribute__((noipa)) static int sorting(void) {
  int numbers[] = {3, 1, 2, 7, 5};
  qsort(numbers, 5, sizeof *numbers, compare);
  return numbers[0];
}

// Unwinds out of a raised signal, and out of a signal at any instruction: here a function's first store.
static void* guarded;
static void on_raise(int number) {
  (void)number;
  stop(base + 3);
}
static void on_fault(int number) {
  (void)number;
  stop(base + 4);
  mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}
__attribute__((noipa)) static void store(volatile char* address) { *address = 1; }
__attribute__((noipa)) static int signals(void) {
  guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  signal(SIGUSR1, on_raise);
  signal(SIGSEGV, on_fault);
  raise(SIGUSR1);
  store(guarded);
  return 1;
}

__attribute__((noipa)) static void* thread(void* argument) {
  stop(base + 5);
  return argument;
}
__attribute__((noipa)) static int threads(void) {
  pthread_t worker;
  pthread_create(&worker, NULL, thread, NULL);
  pthread_join(worker, NULL);
  return 1;
}

// The call is the last instruction, so the return address belongs to another function.
__attribute__((noipa, noreturn)) static void last(void) {
  stop(base + 6);
  _exit(0);
}
__attribute__((noipa, noreturn)) static void before_last(void) { last(); }

int main(void) {
  if (chain(7) + sorting() + signals() + threads() != 0) before_last();
}
