// Allocates, takes a lock and calls the system where little is left of a small stack.
//   small_stacks thread BYTES LEFT   on the stack of a thread that asked for BYTES of stack, with LEFT of them to go
//   small_stacks default BYTES LEFT  the same, where BYTES is the default of all threads
//   small_stacks own BYTES LEFT      on memory that the program gave to a thread
//   small_stacks fiber BYTES LEFT    on the stack of a fiber
// For the last two it prints how many bytes of the stack each operation touched, and then the size of a signal's frame.
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { rounds = 40 };
static const char paint = (char)0xa5;

static size_t stack_bytes, left_bytes;
static char* stack_low;  // of the memory that the program gives; null: of a thread that the C library gives it to
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int zeros;
static char byte;
static void* volatile block;
static size_t touched;  // by the present operation, below its call

static void allocate(void) {
  block = malloc(40);
  free(block);
}
static void take_lock(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
static void read_byte(void) {
  if (read(zeros, &byte, 1) != 1) _exit(3);
}
struct operation {
  const char* name;
  void (*call)(void);
};
static const struct operation operations[] = {{"allocate", allocate}, {"lock", take_lock}, {"read", read_byte}};
enum { operation_count = sizeof operations / sizeof *operations };

static char* low_end(void) {
  if (stack_low) return stack_low;
  pthread_attr_t attributes;
  void* low = NULL;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  // What the thread asked for ends call_end, however much it was given.
  return (char*)low + (bytes - stack_bytes);
}

__attribute__((noinline)) static void call_at_depth(const struct operation* operation, char* low) {
  volatile char frame[200];
  frame[0] = 0;
  if ((uintptr_t)__builtin_frame_address(0) - (uintptr_t)low > left_bytes) {
    call_at_depth(operation, low);
  } else {
    char* const call_end = (char*)alloca(64);  // the lowest address of this frame
    if (stack_low) {
      for (volatile char* unused = low; unused < call_end - 16; ++unused) *unused = paint;  // without a call
    }
    operation->call();
    if (stack_low) {
      const char* lowest = low;
      while (*lowest == paint) ++lowest;
      if ((size_t)(call_end - lowest) > touched) touched = (size_t)(call_end - lowest);
    }
  }
  frame[1] = 0;
}

static const struct operation* present;
static void* run(void* unused) {
  for (int round = 0; round < rounds; ++round) call_at_depth(present, low_end());
  return unused;
}

static ucontext_t main_state, fiber_state;
static void run_fiber(void) {
  run(NULL);
  swapcontext(&fiber_state, &main_state);
}

static void run_on_fiber(void) {
  getcontext(&fiber_state);
  fiber_state.uc_stack.ss_sp = stack_low;
  fiber_state.uc_stack.ss_size = stack_bytes;
  makecontext(&fiber_state, run_fiber, 0);
  swapcontext(&main_state, &fiber_state);
}

static int run_in_thread(int is_default) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_low) {
    if (pthread_attr_setstack(&attributes, stack_low, stack_bytes) != 0) return 3;
  } else if (pthread_attr_setstacksize(&attributes, stack_bytes) != 0) {
    return 3;
  }
  if (is_default && pthread_setattr_default_np(&attributes) != 0) return 3;
  pthread_t thread;
  if (pthread_create(&thread, is_default ? NULL : &attributes, run, NULL) != 0) return 3;
  pthread_join(thread, NULL);
  return 0;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  stack_bytes = strtoul(arguments[2], NULL, 10);
  left_bytes = strtoul(arguments[3], NULL, 10);
  zeros = open("/dev/zero", O_RDONLY);
  const int is_fiber = strcmp(arguments[1], "fiber") == 0;
  if (is_fiber || strcmp(arguments[1], "own") == 0) {
    const size_t guard = 1 << 16;
    stack_low = (char*)mmap(NULL, stack_bytes + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + guard;
    mprotect(stack_low, stack_bytes, PROT_READ | PROT_WRITE);
  }
  for (int index = 0; index < operation_count; ++index) {
    present = &operations[index];
    touched = 0;
    if (is_fiber) {
      run_on_fiber();
    } else if (run_in_thread(strcmp(arguments[1], "default") == 0) != 0) {
      return 3;
    }
    printf("%s %zu\n", present->name, touched);
  }
  printf("signal %lu\n", getauxval(AT_MINSIGSTKSZ));
  return 0;
}
