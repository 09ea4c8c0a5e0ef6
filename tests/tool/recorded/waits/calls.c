// Makes system calls in every way that programs use: each mode does the same work in each round and checks
// the results. Arguments: the mode and the number of rounds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../../support/call_filter.h"

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      _exit(9);                                               \
    }                                                         \
  } while (0)

extern char** environ;
static int ends[2];
static char byte;
static volatile sig_atomic_t came;
static sigjmp_buf target;

static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigfillset(&action.sa_mask);  // SIGSYS with the others
  CHECK(sigaction(signal, &action, NULL) == 0);
}

static void put(void) { CHECK(write(ends[1], "x", 1) == 1); }
static void take(void) { CHECK(read(ends[0], &byte, 1) == 1); }

static void plain(void) {
  struct stat facts;
  put();
  take();
  getppid();
  CHECK(stat("/", &facts) == 0 && stat("/nowhere/at/all", &facts) == -1 && errno == ENOENT);
  CHECK(stat((const char*)8, &facts) == -1 && errno == EFAULT);
  const int file = open("/dev/null", O_RDWR);
  CHECK(file >= 0 && close(file) == 0);
  errno = 77;
  CHECK(syscall(SYS_getpid) == getpid() && errno == 77);
}

static void* some_calls(void* unused) {
  for (int round = 0; round < 20; ++round) getppid();
  put();
  return unused;
}
static void threads(void) {
  pthread_t handles[4];
  for (int index = 0; index < 4; ++index) CHECK(pthread_create(&handles[index], NULL, some_calls, NULL) == 0);
  for (int index = 0; index < 4; ++index) CHECK(pthread_join(handles[index], NULL) == 0);
  for (int index = 0; index < 4; ++index) take();
}

static void count_it(int signal) {
  (void)signal;
  ++came;
  getppid();
}
static void raised(void) {
  came = 0;
  handle(SIGUSR1, count_it, 0);
  CHECK(raise(SIGUSR1) == 0 && came == 1);
}

// Starts a process that sends us SIGALRM on request, once it sees us sleep, so that the signal never comes
// before the call that it interrupts.
static int ask[2];
static char state_of(pid_t process) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int file = open(path, O_RDONLY);
  if (file < 0 || read(file, text, sizeof text - 1) < 0) _exit(0);
  close(file);
  const char* const end = strrchr(text, ')');
  return end == NULL ? 0 : end[2];
}
static void start_alarm(void) {
  const pid_t us = getpid();
  CHECK(pipe(ask) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child != 0) return;
  close(ask[1]);
  char request;
  while (read(ask[0], &request, 1) == 1) {
    while (state_of(us) != 'S') usleep(100);
    kill(us, SIGALRM);
  }
  _exit(0);
}
static void wake_us(void) {
  if (ask[1] == 0) start_alarm();
  CHECK(write(ask[1], "x", 1) == 1);
}

static void interrupted(void) {
  came = 0;
  handle(SIGALRM, count_it, 0);
  wake_us();
  CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR && came == 1);
}

static void put_it(int signal) {
  (void)signal;
  ++came;
  put();
}
static void restarted(void) {
  came = 0;
  handle(SIGALRM, put_it, SA_RESTART);
  wake_us();
  take();
  CHECK(came == 1);
}

static void masks(void) {
  sigset_t every_signal, old, now;
  sigfillset(&every_signal);
  CHECK(sigprocmask(SIG_BLOCK, &every_signal, &old) == 0);
  getppid();
  CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGUSR1) && sigismember(&now, SIGRTMAX));
  const struct timespec no_time = {0, 0};
  struct pollfd readable = {ends[0], POLLIN, 0};
  CHECK(ppoll(&readable, 1, &no_time, &every_signal) == 0);
  fd_set reads;
  FD_ZERO(&reads);
  FD_SET(ends[0], &reads);
  CHECK(pselect(ends[0] + 1, &reads, NULL, NULL, &no_time, &every_signal) == 0);
  const int watch = epoll_create1(0);
  struct epoll_event event;
  CHECK(epoll_pwait(watch, &event, 1, 0, &every_signal) == 0 && close(watch) == 0);
  came = 0;
  handle(SIGUSR2, count_it, 0);
  CHECK(raise(SIGUSR2) == 0 && came == 0);
  sigdelset(&every_signal, SIGUSR2);
  CHECK(sigsuspend(&every_signal) == -1 && errno == EINTR && came == 1);
  CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void*)8, NULL, 8) == -1 && errno == EFAULT);
  CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
}

static char small_stack[8192] __attribute__((aligned(16)));
static volatile int was_there;
static void on_stack(int signal) {
  (void)signal;
  stack_t now;
  getppid();
  CHECK(sigaltstack(NULL, &now) == 0);
  was_there = (now.ss_flags & SS_ONSTACK) != 0 && now.ss_sp == small_stack && now.ss_size == sizeof small_stack;
  raise(SIGUSR2);  // a signal on the signal's stack
}
static void signal_stack(void) {
  stack_t own_stack = {.ss_sp = small_stack, .ss_size = sizeof small_stack}, no_time = {.ss_flags = SS_DISABLE}, old;
  CHECK(sigaltstack(&own_stack, NULL) == 0);
  handle(SIGUSR2, count_it, 0);
  handle(SIGUSR1, on_stack, SA_ONSTACK);
  struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  came = was_there = 0;
  getppid();
  CHECK(raise(SIGUSR1) == 0 && was_there && came == 1);
  CHECK(sigaltstack(&no_time, &old) == 0 && old.ss_sp == small_stack && old.ss_size == sizeof small_stack);
}

static long mapped_kib(void) {
  char line[128];
  long kib = 0;
  FILE* const status = fopen("/proc/self/status", "r");
  CHECK(status != NULL);
  while (fgets(line, sizeof line, status) != NULL && sscanf(line, "VmSize: %ld", &kib) != 1) {
  }
  CHECK(fclose(status) == 0 && kib > 0);
  return kib;
}
// Every other thread disables its signal stack before it ends, as those of Rust do.
static void* use_signal_stack(void* disables) {
  stack_t own_stack = {.ss_sp = small_stack, .ss_size = sizeof small_stack}, disabled = {.ss_flags = SS_DISABLE}, old;
  CHECK(sigaltstack(&own_stack, NULL) == 0);
  came = was_there = 0;
  CHECK(raise(SIGUSR1) == 0 && was_there && came == 1);
  if (disables == NULL) return NULL;
  CHECK(sigaltstack(&disabled, NULL) == 0);
  CHECK(sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE) != 0);
  getppid();
  CHECK(sigaltstack(&own_stack, NULL) == 0 && raise(SIGUSR1) == 0 && was_there && came == 2);
  CHECK(sigaltstack(&disabled, NULL) == 0);
  return NULL;
}
static void ended_stacks(void) {
  static int round;
  static long first_kib;
  handle(SIGUSR2, count_it, 0);
  struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, use_signal_stack, ++round % 2 == 0 ? &thread : NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  if (round == 100) first_kib = mapped_kib();
  if (round % 100 == 0) CHECK(mapped_kib() - first_kib < 2 << 10);
}

static void* allocates(void* number) {
  void* volatile block = malloc(100);
  free(block);
  *(long*)number = syscall(SYS_gettid);
  return NULL;
}
// Each thread begins when the one before has gone.
static void ended_threads(void) {
  static int round;
  static long first_kib;
  pthread_t thread;
  long number;
  CHECK(pthread_create(&thread, NULL, allocates, &number) == 0 && pthread_join(thread, NULL) == 0);
  while (syscall(SYS_tgkill, getpid(), number, 0) == 0) sched_yield();
  if (++round == 1000) first_kib = mapped_kib();
  if (round % 1000 == 0) CHECK(mapped_kib() - first_kib < 8 << 10);
}

// A thread is called "late" from the hundredth on where its number is odd.
static void* names_itself(void* of_round) {
  if (*(int*)of_round >= 100 && *(int*)of_round % 2 != 0) CHECK(pthread_setname_np(pthread_self(), "late") == 0);
  void* volatile block = malloc(100);
  free(block);
  return NULL;
}
static void late_names(void) {
  static int round;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, names_itself, &round) == 0 && pthread_join(thread, NULL) == 0);
  ++round;
}

// Jumps out of the recorder, where a signal interrupts it, onto another stack that is far from the one before.
static ucontext_t stacks[2];
static volatile sig_atomic_t jumps_left;
static void jump_out(int signal, siginfo_t* information, void* context) {
  (void)signal, (void)information;
  Dl_info facts;
  const void* const interrupted = (void*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (jumps_left == 0 || dladdr(interrupted, &facts) == 0 || strstr(facts.dli_fname, "libtarn-record") == NULL) return;
  setcontext(&stacks[--jumps_left % 2]);
}
__attribute__((noinline)) static void after_jumps(void) {
  for (int round = 0; round < 2000000; ++round) getppid();
}
static void until_jumps_end(void) {
  while (jumps_left != 0) getppid();
  after_jumps();
  exit(0);
}
static void* send_signals(void* target_thread) {
  while (jumps_left == 0) sched_yield();
  while (jumps_left != 0) pthread_kill(*(pthread_t*)target_thread, SIGUSR1);
  return NULL;
}
static void left_decisions(void) {
  enum { bytes = 32 << 20 };
  struct sigaction action = {.sa_sigaction = jump_out, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int index = 0; index < 2; ++index) {
    CHECK(getcontext(&stacks[index]) == 0);
    stacks[index].uc_stack.ss_sp = calloc(1, bytes);
    stacks[index].uc_stack.ss_size = bytes;
    makecontext(&stacks[index], until_jumps_end, 0);
  }
  for (int round = 0; round < 20000; ++round) getppid();
  static pthread_t us;
  us = pthread_self();
  pthread_t sender;
  CHECK(pthread_create(&sender, NULL, send_signals, &us) == 0);
  jumps_left = 200;
  until_jumps_end();
}

static void jump(int signal) {
  (void)signal;
  getppid();
  siglongjmp(target, 1);
}
static void jumps(void) {
  handle(SIGALRM, jump, 0);
  if (sigsetjmp(target, 1) == 0) {
    wake_us();
    take();  // nothing comes
    CHECK(0);
  }
  getppid();
}

static void spawns(void) {
  char* child_arguments[] = {"true", NULL};
  pid_t child;
  int status;
  CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, child_arguments, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(system("exit 3") == 3 << 8);
  char line[8] = "";
  FILE* const output = popen("echo hi", "r");
  CHECK(output != NULL && fgets(line, sizeof line, output) != NULL && strcmp(line, "hi\n") == 0 && pclose(output) == 0);
}

static void forks(void) {
  int status;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (int round = 0; round < 10; ++round) getppid();
    handle(SIGUSR1, count_it, 0);
    came = 0;
    CHECK(raise(SIGUSR1) == 0 && came == 1);
    _exit(4);
  }
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
  const pid_t second = vfork();
  if (second == 0) _exit(5);
  CHECK(waitpid(second, &status, 0) == second && WEXITSTATUS(status) == 5);
}

static void* blocked(void* unused) {
  take();
  return unused;
}
static void cancels(void) {
  pthread_t thread;
  void* result;
  CHECK(pthread_create(&thread, NULL, blocked, NULL) == 0);
  CHECK(pthread_cancel(thread) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

static int raw_thread(void* unused) {
  (void)unused;
  syscall(SYS_getppid);
  return 0;
}
static void raw_clones(void) {  // shares memory, is a process
  static char stack[65536] __attribute__((aligned(16)));
  int status;
  const pid_t child = clone(raw_thread, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

// A thread of another run time: what its thread pointer points to is not of the C library.
static void own_threads(void) {
  static char stack[65536] __attribute__((aligned(16))), memory[16384] __attribute__((aligned(64)));
  static int running;
  memset(memory, 'x', sizeof memory);
  running = 1;
  long result = SYS_clone;
  const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                     CLONE_CHILD_CLEARTID;
  register int* cleared __asm__("r10") = &running;
  register char* pointer __asm__("r8") = memory + sizeof memory / 2;
  __asm__ volatile(
      "syscall\n test %%rax, %%rax\n jnz 1f\n"
      "mov %[getppid], %%eax\n syscall\n"
      "xor %%edi, %%edi\n mov %[exit], %%eax\n syscall\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack + sizeof stack), "d"(0L), "r"(cleared),
        "r"(pointer), [getppid] "i"(SYS_getppid), [exit] "i"(SYS_exit)
      : "rcx", "r11", "memory");
  CHECK(result > 0);
  while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != 0) sched_yield();
  for (size_t index = 0; index < sizeof memory; ++index) CHECK(memory[index] == 'x');
}

// A child that shares our memory and may make few calls, none of which a recorder needs. It ends by 7.
static int restricted_child(void* strict) {
  static const int allowed[] = {SYS_write, SYS_exit, SYS_exit_group};
  struct call_filter filter;
  make_call_filter(&filter, allowed, sizeof allowed / sizeof *allowed, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
  if ((strict != NULL ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) : set_call_filter(&filter)) != 0) _exit(9);
  for (int round = 0; round < 100; ++round) free(malloc(100));
  put();
  if (strict != NULL) syscall(SYS_exit, 7);
  _exit(7);
}
static void goes_on(void) {
  for (int round = 0; round < 20; ++round) getppid();
}
static void restricted_children(void) {
  static char stack[65536] __attribute__((aligned(16)));
  int status;
  for (int variant = 0; variant < 3; ++variant) {
    const pid_t child =
        variant == 2 ? clone(restricted_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) : vfork();
    if (child == 0) restricted_child(variant == 0 ? NULL : &status);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    take();
    goes_on();
  }
}

static void own_sigsys(int signal, siginfo_t* information, void* context) {
  ++came;
  CHECK(signal == SIGSYS);
  if (information->si_code == 1) ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = 4711;  // SYS_SECCOMP
}
static void sigsys(void) {
  struct sigaction action = {.sa_sigaction = own_sigsys, .sa_flags = SA_SIGINFO}, old;
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  CHECK(sigaction(SIGSYS, NULL, &old) == 0 && old.sa_sigaction == own_sigsys);
  came = 0;
  CHECK(kill(getpid(), SIGSYS) == 0 && came == 1);
  static int filtered;
  if (!filtered) {
    CHECK(filter_call(SYS_getpgrp, SECCOMP_RET_TRAP) == 0);
    filtered = 1;
  }
  CHECK(syscall(SYS_getpgrp) == 4711 && came == 2);
}

static void own_dispatch(void) {
  CHECK(prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, NULL) == -1 && errno == EINVAL);
  static int refused;
  if (refused) return;  // later rounds may be outside of a window
  refused = 1;
  long result = 20;  // getpid in the 32-bit table; writev in ours
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  CHECK(result == -ENOSYS);
}

// A handler that interrupts often while something else is counted. Reports how often it ran.
static void storm(void) {
  const struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}}, never = {0};
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  came = 0;
  handle(SIGALRM, count_it, SA_RESTART);
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  while (came < 2000) {
    for (int times = 0; times < 100; ++times) {
      void* volatile block = malloc(100);
      free(block);
      pthread_mutex_lock(&lock);
      pthread_mutex_unlock(&lock);
    }
  }
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  printf("%d\n", came);
}

// Long waits that begin when windows have become seldom.
__attribute__((noinline)) static void wait_for(int milliseconds) {
  struct pollfd nothing = {ends[0], POLLIN, 0};
  CHECK(poll(&nothing, 1, milliseconds) == 0);
}
/* Two threads and this one wait in one call each, until the process is killed. */
static void* waits_in_poll(void* unused) {
  (void)unused;
  for (int round = 0; round < 5000; ++round) CHECK(poll(NULL, 0, 0) == 0);
  poll(NULL, 0, -1);
  return NULL;
}
static void* waits_in_read(void* unused) {
  int ends[2];
  char byte;
  (void)unused;
  CHECK(pipe(ends) == 0);
  CHECK(read(ends[0], &byte, 1) == 1);
  return NULL;
}
static void endless(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, waits_in_read, NULL) == 0);
  usleep(20000);
  CHECK(pthread_create(&thread, NULL, waits_in_poll, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void late_waits(void) {
  for (int round = 0; round < 300000; ++round) getppid();
  for (int round = 0; round < 20; ++round) {
    usleep(3000);
    for (int times = 0; times < 50; ++times) wait_for(0);
    wait_for(3);
  }
}

// Turns from many calls to functions that mostly make none, and back.
static void turns(void) {
  static FILE* file = NULL;
  if (file == NULL) CHECK((file = fopen("/dev/null", "w")) != NULL);
  for (int round = 0; round < 2000; ++round) getppid();
  for (int round = 0; round < 2000; ++round) CHECK(fputs("some words\n", file) >= 0);
}

static void* exits(void* unused) {
  (void)unused;
  exit(6);
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*run)(void);
  } modes[] = {{"plain", plain},
               {"threads", threads},
               {"raised", raised},
               {"interrupted", interrupted},
               {"masks", masks},
               {"stack", signal_stack},
               {"jumps", jumps},
               {"restarted", restarted},
               {"spawns", spawns},
               {"forks", forks},
               {"cancels", cancels},
               {"clones", raw_clones},
               {"sigsys", sigsys},
               {"dispatch", own_dispatch},
               {"storm", storm},
               {"restricted", restricted_children},
               {"own_threads", own_threads},
               {"left_decisions", left_decisions},
               {"ended_stacks", ended_stacks},
               {"late_waits", late_waits},
               {"endless", endless},
               {"turns", turns},
               {"ended_threads", ended_threads},
               {"late_names", late_names}};
  CHECK(count == 3 && pipe(ends) == 0);
  if (strcmp(arguments[1], "exec") == 0) {
    execl("/proc/self/exe", arguments[0], "plain", arguments[2], NULL);
    CHECK(0);
  }
  if (strcmp(arguments[1], "exit") == 0) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, exits, NULL) == 0);
    pause();
  }
  for (size_t index = 0; index < sizeof modes / sizeof *modes; ++index) {
    if (strcmp(arguments[1], modes[index].name) != 0) continue;
    for (int rounds = atoi(arguments[2]); rounds > 0; --rounds) modes[index].run();
    return 0;
  }
  return 8;
}
