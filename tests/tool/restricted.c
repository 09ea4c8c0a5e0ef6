// Restricts its own system calls to what it needs itself, and then allocates, locks, and starts threads. The kernel
// ends it at any other call.
//   restricted prctl | syscall | raw | strict
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(write),
    ALLOW(mmap),
    ALLOW(munmap),
    ALLOW(mprotect),
    ALLOW(madvise),
    ALLOW(brk),
    ALLOW(futex),
    ALLOW(clone3),
    ALLOW(rseq),
    ALLOW(set_robust_list),
    ALLOW(rt_sigprocmask),
    ALLOW(rt_sigaction),
    ALLOW(exit),
    ALLOW(exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};

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
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (strcmp(method, "prctl") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
  if (strcmp(method, "syscall") == 0) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"((long)SYS_seccomp), "D"((long)SECCOMP_SET_MODE_FILTER), "S"(0L), "d"(&filter)
                   : "rcx", "r11", "memory");
  return result;
#else
  return -1;
#endif
}

int main(int count, char** words) {
  if (count != 2) return 2;
  // Many programs ask whether they could; this restricts nothing.
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == 0) return 3;
  free(malloc(10));
  if (restrict_calls(words[1]) != 0) return 4;
  if (strcmp(words[1], "strict") == 0) {
    allocate_after();
    (void)!write(1, "ended\n", 6);
    syscall(SYS_exit, 0);
  }
  for (int round = 0; round < 3; ++round) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) return 5;
    pthread_join(thread, NULL);
  }
  (void)!write(1, "ended\n", 6);
  _exit(0);
}
