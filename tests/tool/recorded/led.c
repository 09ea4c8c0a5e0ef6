// A program whose first thread is led from outside when a recorder attaches, and which notices what that changes.
//
//   led reads | sleeps | computes
//
// The first thread waits for input, sleeps, or computes with values in all registers and below its stack pointer, until
// the end of the input. It prints how many answers were wrong, and exits with 3. A second thread computes, too.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int must_end;
__attribute__((__used__)) static atomic_int wrong;

// Checks registers, vector registers, x87, the carry flag, and what lies below the stack pointer.
static void compute(void) {
  long rounds = 20000;
  __asm__ volatile(
      "sub $256, %%rsp\n"
      "mov $0x1111, %%rbx\n mov $0x2222, %%rcx\n mov $0x3333, %%rdx\n mov $0x4444, %%rsi\n mov $0x5555, %%rdi\n"
      "mov $0x8888, %%r8\n mov $0x9999, %%r9\n mov $0xaaaa, %%r10\n mov $0xbbbb, %%r11\n mov $0xcccc, %%r12\n"
      "mov $0xdddd, %%r13\n mov $0xeeee, %%r14\n mov $0xffff, %%r15\n"
      "movq %%rbx, %%xmm0\n movq %%rcx, %%xmm5\n movq %%rdx, %%xmm10\n movq %%rsi, %%xmm15\n"
      "pshufd $0x44, %%xmm15, %%xmm15\n"
      "fld1\n"
      "movq $0x7777, -8(%%rsp)\n movq $0x6666, -128(%%rsp)\n"
      "stc\n"
      "1: dec %0\n jnz 1b\n"
      "jc 2f\n lock incl wrong(%%rip)\n 2:\n"
      ".macro check register, value\n cmp $\\value, %%\\register\n je 3f\n lock incl wrong(%%rip)\n 3:\n .endm\n"
      "check rbx, 0x1111\n check rcx, 0x2222\n check rdx, 0x3333\n check rsi, 0x4444\n check rdi, 0x5555\n"
      "check r8, 0x8888\n check r9, 0x9999\n check r10, 0xaaaa\n check r11, 0xbbbb\n check r12, 0xcccc\n"
      "check r13, 0xdddd\n check r14, 0xeeee\n check r15, 0xffff\n"
      "movq %%xmm0, %%rbx\n movq %%xmm5, %%rcx\n movq %%xmm10, %%rdx\n movhlps %%xmm15, %%xmm15\n movq %%xmm15, %%rsi\n"
      "check rbx, 0x1111\n check rcx, 0x2222\n check rdx, 0x3333\n check rsi, 0x4444\n"
      "fistpll -16(%%rsp)\n mov -16(%%rsp), %%rbx\n check rbx, 1\n"
      "mov -8(%%rsp), %%rbx\n mov -128(%%rsp), %%rcx\n check rbx, 0x7777\n check rcx, 0x6666\n"
      ".purgem check\n"
      "add $256, %%rsp\n"
      : "+a"(rounds)
      :
      : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm5",
        "xmm10", "xmm15", "st", "memory", "cc");
}

static void* run_beside(void* is_reader) {
  char input;
  while (!must_end) {
    if (is_reader != NULL && read(STDIN_FILENO, &input, 1) == 0) must_end = 1;
    if (is_reader == NULL) compute();
  }
  return NULL;
}

static void read_input(void) {
  for (char input;;) {
    const ssize_t bytes = read(STDIN_FILENO, &input, 1);
    if (bytes == 0) return;
    if (bytes < 0) {
      fprintf(stderr, "read: %s\n", strerror(errno));
      ++wrong;
    } else {
      if (write(STDOUT_FILENO, &input, 1) != 1) ++wrong;
    }
  }
}

static void sleep_all_the_time(void) {
  const struct timespec duration = {0, 30 * 1000 * 1000};
  while (!must_end) {
    if (nanosleep(&duration, NULL) != 0) {
      fprintf(stderr, "nanosleep: %s\n", strerror(errno));
      ++wrong;
    }
  }
}

int main(int count, char** arguments) {
  const char* const mode = count > 1 ? arguments[1] : "";
  const int is_reader = strcmp(mode, "reads") == 0;
  pthread_t computing, reading;
  if (pthread_create(&computing, NULL, run_beside, NULL) != 0) abort();
  if (!is_reader && pthread_create(&reading, NULL, run_beside, arguments) != 0) abort();
  puts("ready");
  fflush(stdout);
  if (is_reader) read_input();
  if (strcmp(mode, "sleeps") == 0) sleep_all_the_time();
  if (strcmp(mode, "computes") == 0) {
    while (!must_end) compute();
  }
  must_end = 1;
  pthread_join(computing, NULL);
  if (!is_reader) pthread_join(reading, NULL);
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  for (int number = 1; number < 64; ++number) wrong += sigismember(&blocked, number) == 1;
  printf("%d wrong\n", wrong);
  return wrong == 0 ? 3 : 4;
}
