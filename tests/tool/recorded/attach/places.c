// A program whose first thread waits where it must not call functions for a recorder, until it is told to leave.
//
//   places PLACE [COMPANY]
//
// The thread waits for a byte of its input in a handler of a signal, whose PLACE is its form: "small", "large" with a
// frame of 100 KiB, or "restorer" with other code to return. With the PLACE "malloc" it calls malloc for LOGGED_BYTES
// instead, which waits in logging_malloc.c. Afterwards it reads its input to the end. With COMPANY it has another
// thread:
//   shares: one without a descriptor of the C library, whose thread pointer is that of the first thread
//   own: such a one, whose thread pointer points to other memory
//   works, polls: one of the kernel, for io_uring
// At the end of its input it prints the number of wrong answers, and exits with 3: the thread that has loaded the
// recorder is not the first one, or the action of SIGSEGV is another one.
#define _GNU_SOURCE
#include <link.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int wrong;

static void wait_for_byte(void) {
  char byte;
  puts("ready");
  fflush(stdout);
  if (read(STDIN_FILENO, &byte, 1) != 1) exit(5);
}

static void handle(int number) {
  (void)number;
  wait_for_byte();
}
static void handle_in_large_frame(int number) {
  volatile char frame[100 * 1024];
  memset((char*)frame, number, sizeof frame);
  wait_for_byte();
  wrong += frame[0] != number;
}

void return_from_handler(void);
__asm__(".text\n.globl return_from_handler\n nop\nreturn_from_handler:\n nop\n mov $15, %eax\n syscall\n");

static void wait_in_handler(const char* form) {
  if (strcmp(form, "restorer") == 0) {
    const unsigned long has_restorer = 0x04000000;
    struct {
      void (*handler)(int);
      unsigned long flags;
      void (*restorer)(void);
      unsigned long mask;
    } action = {handle, has_restorer, return_from_handler, 0};
    if (syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8) != 0) exit(5);
  } else {
    signal(SIGUSR1, strcmp(form, "large") == 0 ? handle_in_large_frame : handle);
  }
  raise(SIGUSR1);
}

static int wait_for_ever(void* argument) {
  struct timespec duration = {3600, 0};
  for (;;) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(SYS_nanosleep), "D"(&duration), "S"(0) : "rcx", "r11", "memory");
  }
  return argument != NULL;
}

static void start_thread(int has_own_pointer) {
  static char stack[64 * 1024] __attribute__((aligned(64))), area[8192] __attribute__((aligned(64)));
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  if (clone(wait_for_ever, stack + sizeof stack, flags | (has_own_pointer ? CLONE_SETTLS : 0), NULL, NULL,
            has_own_pointer ? area + sizeof area / 2 : NULL, NULL) < 0)
    exit(5);
}

// Has the kernel read two pipes, by threads of its own.
static void start_io_uring(unsigned flags) {
  static char targets[2][64];
  struct io_uring_params parameters = {.flags = flags};
  const int ring = (int)syscall(SYS_io_uring_setup, 8, &parameters);
  if (ring < 0) {
    puts("no io_uring");
    exit(0);
  }
  const int rights = PROT_READ | PROT_WRITE, kind = MAP_SHARED | MAP_POPULATE;
  char* const queue = mmap(NULL, parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned), rights, kind, ring,
                           IORING_OFF_SQ_RING);
  struct io_uring_sqe* const entries =
      mmap(NULL, parameters.sq_entries * sizeof *entries, rights, kind, ring, IORING_OFF_SQES);
  if (queue == MAP_FAILED || entries == MAP_FAILED) exit(5);
  unsigned* const tail = (unsigned*)(void*)(queue + parameters.sq_off.tail);
  unsigned* const indices = (unsigned*)(void*)(queue + parameters.sq_off.array);
  for (unsigned index = 0; index < 2; ++index) {
    int ends[2];
    if (pipe(ends) != 0) exit(5);
    entries[index] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                           .fd = ends[0],
                                           .addr = (uintptr_t)targets[index],
                                           .len = sizeof targets[index],
                                           .flags = IOSQE_ASYNC};
    indices[index] = index;
  }
  __atomic_store_n(tail, *tail + 2, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, 2, 0, 0, NULL, 0) < 0) exit(5);
}

// The recorder's path has the number of the thread that has loaded it.
static int check_recorder(struct dl_phdr_info* facts, size_t size, void* data) {
  (void)size;
  (void)data;
  int thread;
  if (sscanf(facts->dlpi_name, "/proc/self/task/%d/fd/", &thread) == 1) wrong += thread != getpid();
  return 0;
}

int main(int count, char** arguments) {
  const char* const company = count > 2 ? arguments[2] : "";
  signal(SIGSEGV, handle);
  if (strcmp(company, "shares") == 0) start_thread(0);
  if (strcmp(company, "own") == 0) start_thread(1);
  if (strcmp(company, "works") == 0) start_io_uring(0);
  if (strcmp(company, "polls") == 0) start_io_uring(IORING_SETUP_SQPOLL);
  if (count > 1 && strcmp(arguments[1], "malloc") == 0) {
    free(malloc(LOGGED_BYTES));
  } else {
    wait_in_handler(count > 1 ? arguments[1] : "");
  }
  puts("left");
  fflush(stdout);
  for (char input; read(STDIN_FILENO, &input, 1) == 1;) continue;
  dl_iterate_phdr(check_recorder, NULL);
  wrong += signal(SIGSEGV, SIG_DFL) != handle;
  printf("%d wrong\n", wrong);
  return wrong == 0 ? 3 : 4;
}
