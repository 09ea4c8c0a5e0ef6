// Restricts its own system calls to what it needs itself, and then allocates, locks, and starts threads. The kernel
// ends it at any other call.
//   restricted prctl | syscall | raw | strict | clock
// With `clock` it may make all calls but those that only a recorder makes.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../support/call_filter.h"

static const int allowed[] = {
    SYS_write,  SYS_mmap, SYS_munmap,          SYS_mprotect,       SYS_madvise,      SYS_brk,  SYS_futex,
    SYS_clone3, SYS_rseq, SYS_set_robust_list, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_exit, SYS_exit_group};
static struct call_filter filter;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void allocate_after(void) {
  for (int round = 0; round < 1000; ++round) {
    pthread_mutex_lock(&mutex);
    void* volatile block = malloc(100);
    free(block);
    pthread_mutex_unlock(&mutex);
  }
}

static void* run(void* argument) {
  allocate_after();
  return argument;
}

static long restrict_calls(const char* method) {
  if (strcmp(method, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
  make_call_filter(&filter, allowed, sizeof allowed / sizeof *allowed, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
  if (strcmp(method, "clock") == 0) {
    static const int refused[] = {SYS_clock_gettime, SYS_sigaltstack};
    make_call_filter(&filter, refused, sizeof refused / sizeof *refused, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
    return set_call_filter(&filter);
  }
  if (strcmp(method, "prctl") == 0) return set_call_filter(&filter);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (strcmp(method, "syscall") == 0) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter.program);
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"((long)SYS_seccomp), "D"((long)SECCOMP_SET_MODE_FILTER), "S"(0L), "d"(&filter.program)
                   : "rcx", "r11", "memory");
  return result;
#else
  return -1;
#endif
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  // Many programs ask whether they could; this restricts nothing.
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == 0) return 3;
  free(malloc(10));
  const int rounds = strcmp(arguments[1], "clock") == 0 ? 20000 : 0;
  for (int round = 0; round < rounds; ++round) getppid();
  if (restrict_calls(arguments[1]) != 0) return 4;
  if (strcmp(arguments[1], "strict") == 0) {
    allocate_after();
    (void)!write(1, "ended\n", 6);
    syscall(SYS_exit, 0);
  }
  for (int round = 0; round < rounds; ++round) getppid();
  for (int round = 0; round < 3; ++round) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) return 5;
    pthread_join(thread, NULL);
  }
  (void)!write(1, "ended\n", 6);
  _exit(0);
}
