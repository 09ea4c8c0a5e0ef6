// Stacks other than the thread's: of fibers, of signals, and of code made at run time on a fiber. All call
// stop(); unwinding_test.py knows the functions. fibers [FILE]: also writes a map for perf.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { base = 700000, page = 4096, stack_bytes = 16 * page };

__attribute__((noipa)) void stop(size_t bytes) {
  void* volatile block = malloc(bytes);
  free(block);
}
__attribute__((noipa)) static void inner(int number) {
  stop((size_t)(base + number));
  __asm__ volatile("" ::: "memory");
}
__attribute__((noipa)) static void middle(int number) {
  volatile char room[2 * page];
  memset((void*)room, number, sizeof room);
  inner(number);
  __asm__ volatile("" ::: "memory");
}

static ucontext_t caller;
static void (*task)(int);
static void fiber_main(int number) {
  task(number);
  __asm__ volatile("" ::: "memory");
}
static void run_on(void* stack, void (*function)(int), int number) {
  ucontext_t fiber;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = stack_bytes;
  fiber.uc_link = &caller;
  task = function;
  makecontext(&fiber, (void (*)(void))fiber_main, 1, number);
  swapcontext(&caller, &fiber);
}

// Maps a stack with unreadable memory right above and below it.
static char* guarded_stack(void) {
  char* const mapping = mmap(NULL, stack_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(mapping + page, stack_bytes, PROT_READ | PROT_WRITE);
  return mapping + page;
}
static void run_guarded(void (*function)(int), int number) {
  char* const stack = guarded_stack();
  run_on(stack, function, number);
  munmap(stack - page, stack_bytes + 2 * page);
}

static void* thread(void* argument) {
  run_guarded(middle, 3);
  return argument;
}

static int signalled;
static void on_signal(int signal) {
  (void)signal;
  inner(signalled);
  __asm__ volatile("" ::: "memory");
}
__attribute__((noipa)) static void raising(int number) {
  signalled = number;
  raise(SIGUSR1);
  __asm__ volatile("" ::: "memory");
}

#if defined(__x86_64__)
static const unsigned char with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf7, 0xff, 0xd2, 0x5d, 0xc3};
// Its frame pointer is the first argument: the word at the end of the stack, beyond which nothing can be read.
static const unsigned char without_frame[] = {0x55, 0x48, 0x89, 0xfd, 0x89, 0xf7, 0xff, 0xd2, 0x5d, 0xc3};
static FILE* map;  // the map of names, if requested
typedef void generated_code(void* frame, int number, void (*function)(int));
static generated_code* make_code(const unsigned char* code, size_t bytes) {
  void* const memory = mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(memory, code, bytes);
  if (map != NULL) fprintf(map, "%lx %zx jitted_%zu\n", (unsigned long)memory, bytes, bytes);
  generated_code* as_function;
  memcpy(&as_function, &memory, sizeof as_function);
  return as_function;
}
static void* end_of_stack;
__attribute__((noipa)) static void through_frame(int number) {
  make_code(with_frame, sizeof with_frame)(NULL, number, inner);
  __asm__ volatile("" ::: "memory");
}
__attribute__((noipa)) static void through_no_frame(int number) {
  make_code(without_frame, sizeof without_frame)((char*)end_of_stack - 8, number, inner);
  __asm__ volatile("" ::: "memory");
}
#endif

int main(int count, char** arguments) {
#if defined(__x86_64__)
  if (count > 1) map = fopen(arguments[1], "w");
#endif
  run_on(malloc(stack_bytes), middle, 1);
  run_guarded(middle, 2);
  pthread_t second_thread;
  pthread_create(&second_thread, NULL, thread, NULL);
  pthread_join(second_thread, NULL);

  stack_t of_signals = {.ss_sp = malloc(stack_bytes), .ss_size = stack_bytes};
  sigaltstack(&of_signals, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  raising(4);
  run_guarded(raising, 5);
#if defined(__x86_64__)
  run_guarded(through_frame, 6);
  char* const stack = guarded_stack();
  end_of_stack = stack + stack_bytes;
  run_on(stack, through_no_frame, 7);
#endif
  for (int repetition = 0; repetition < 50; ++repetition) run_on(guarded_stack(), middle, 8);
#if defined(__x86_64__)
  if (map != NULL) fclose(map);
#endif
  return count == 0 || arguments == NULL;
}
