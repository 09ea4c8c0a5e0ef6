// A thread that the C library does not know gives idle memory back. It must not keep what the process gives up, and not
// be in the way of calls that need a process with one thread.
//@ tarn-only
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../cases.h"

int capset(void* header, const void* capabilities);

static void free_much(void) {
  enum { count = 16 };
  void* blocks[count];
  for (int i = 0; i < count; ++i) CHECK((blocks[i] = calloc(1, (size_t)1 << 20)) != NULL);
  for (int i = 0; i < count; ++i) free(blocks[i]);
}

static int has_helper(void) {
#ifdef __x86_64__
  return thread_count() > 1 || guarded();  // a quarantine keeps freed blocks
#else
  return 1;  // elsewhere none starts
#endif
}

enum { calls = 17 };
static void change_identity(int kind) {
  struct {
    unsigned version;
    int process;
  } header = {0x20080522, 0};
  struct {
    unsigned effective, permitted, inheritable;
  } capabilities[2];
  gid_t groups[1000];
  switch (kind) {
    case 0: CHECK(setuid(getuid()) == 0); break;
    case 1: CHECK(setgid(getgid()) == 0); break;
    case 2: CHECK(seteuid(geteuid()) == 0); break;
    case 3: CHECK(setegid(getegid()) == 0); break;
    case 4: CHECK(setreuid(getuid(), geteuid()) == 0); break;
    case 5: CHECK(setregid(getgid(), getegid()) == 0); break;
    case 6: CHECK(setresuid(getuid(), geteuid(), (uid_t)-1) == 0); break;
    case 7: CHECK(setresgid(getgid(), getegid(), (gid_t)-1) == 0); break;
    case 8: CHECK(setgroups((size_t)getgroups(1000, groups), groups) == 0 || errno == EPERM); break;
    case 9: CHECK(initgroups("root", getgid()) == 0 || errno == EPERM); break;
    case 10: CHECK(unshare(CLONE_THREAD) == 0); break;  // the kernel refuses it to a process with two threads
    case 11: CHECK(setns(-1, 0) == -1 && errno == EBADF); break;
    case 12: CHECK(syscall(SYS_capget, &header, capabilities) == 0 && capset(&header, capabilities) == 0); break;
    case 13: CHECK(prctl(PR_CAPBSET_DROP, 1000, 0, 0, 0) == -1); break;
    case 14: CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0); break;
    case 15: CHECK(prctl(PR_SET_SECUREBITS, -1, 0, 0, 0) == -1); break;
    case 16: CHECK(prctl(PR_SET_NO_NEW_PRIVS, 2, 0, 0, 0) == -1 && errno == EINVAL); break;  // no restriction
  }
}

// After each of these calls the process has one thread. Later frees start the helper again.
//@ env TARN_PURGE_DELAY_MS=3600000
//@ broken-by TARN_BACKGROUND_PURGE=0
CASE(identity_changes_end_the_helper) {
  for (int kind = 0; kind < calls; ++kind) {
    free_much();
    CHECK(has_helper());
    change_identity(kind);
    CHECK(thread_count() == 1);
    change_identity(kind);
  }
}

static int stopped;
static void* free_again(void* unused) {
  while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED)) free_much();
  return unused;
}

// Returns whether each thread of this process has the user, as all four of its numbers.
static int all_have_user(unsigned user) {
  char expected[100], path[300], text[4096];
  snprintf(expected, sizeof expected, "\nUid:\t%u\t%u\t%u\t%u\n", user, user, user, user);
  DIR* threads = opendir("/proc/self/task");
  CHECK(threads != NULL);
  int is_everywhere = 1;
  for (struct dirent* entry; (entry = readdir(threads)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    const int file = entry->d_name[0] == '.' ? -1 : open(path, O_RDONLY);
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) continue;  // the thread is gone
    text[length] = 0;
    is_everywhere = is_everywhere && strstr(text, expected) != NULL;
  }
  closedir(threads);
  return is_everywhere;
}

// A process gives its user up while another thread frees much memory, so that the helper starts and ends all the time:
// no thread keeps the old user. Only root can see it fail.
//@ env TARN_PURGE_DELAY_MS=1
//@ broken-by text
CASE(identity_of_a_busy_process) {
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, free_again, NULL) == 0);
      usleep((unsigned)round * 300);
      const uid_t user = getuid() == 0 ? 65534 : getuid();
      CHECK(setresuid(user, user, user) == 0);
      for (int i = 0; i < 20; ++i) CHECK(all_have_user(user));
      _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
}

// A child of vfork changes its own identity: the helper is its parent's, and stays.
//@ env TARN_PURGE_DELAY_MS=3600000
//@ broken-by TARN_BACKGROUND_PURGE=0
CASE(identity_of_a_vfork_child) {
  free_much();
  const pid_t child = vfork();
  if (child == 0) {
    setuid(getuid());
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(has_helper());
  CHECK(setuid(getuid()) == 0);
  CHECK(thread_count() == 1);
  free_much();
  CHECK(has_helper());
}

// A child of fork has no helper of its own until it frees much, and a parent keeps its own.
//@ env TARN_PURGE_DELAY_MS=3600000
//@ broken-by TARN_BACKGROUND_PURGE=0
CASE(identity_of_a_forked_child) {
  free_much();
  const pid_t child = fork();
  if (child == 0) {
    CHECK(setuid(getuid()) == 0);
    free_much();
    CHECK(has_helper());
    CHECK(setuid(getuid()) == 0);
    CHECK(thread_count() == 1);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(has_helper());
}

static volatile sig_atomic_t handled;
static void change_in_handler(int signal) {
  CHECK(setuid(getuid()) == 0);
  handled += signal != 0;
}
static void* signal_often(void* target) {
  for (int i = 0; i < 100; ++i) {
    CHECK(pthread_kill(*(pthread_t*)target, SIGUSR1) == 0);
    usleep(300);
  }
  __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
  return NULL;
}

// A signal handler changes the identity wherever it interrupts malloc and free.
//@ env TARN_PURGE_DELAY_MS=1
//@ broken-by text
CASE(identity_in_a_signal_handler) {
  pthread_t self = pthread_self(), thread;
  CHECK(signal(SIGUSR1, change_in_handler) != SIG_ERR);
  CHECK(pthread_create(&thread, NULL, signal_often, &self) == 0);
  free_again(NULL);
  CHECK(pthread_join(thread, NULL) == 0 && handled > 0);
}

static void kill_for_threads(void) {
#define DENY(number) \
  {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number}, { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS }
  struct sock_filter filter[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
                                 DENY(SYS_clone),
                                 DENY(SYS_clone3),
                                 DENY(SYS_membarrier),
                                 {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

// A process whose filter kills it for a new thread or a barrier frees much memory: no helper starts.
//@ env TARN_PURGE_DELAY_MS=3600000
//@ broken-by TARN_BACKGROUND_PURGE=0
CASE(identity_under_a_filter) {
  free_much();
  CHECK(has_helper());
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(thread_count() == 1);
  kill_for_threads();
  for (int round = 0; round < 10; ++round) free_much();
  CHECK(thread_count() == 1);
}

// The same with a helper that works at that moment, and for a filter that libseccomp installs: only the announcement
// goes through prctl().
//@ env TARN_PURGE_DELAY_MS=1
//@ broken-by text
CASE(identity_under_a_filter_by_system_call) {
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < round; ++i) free_much();
      usleep((unsigned)round * 1000);
      CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
      kill_for_threads();
      for (int i = 0; i < 20; ++i) {
        free_much();
        usleep(1000);
      }
      _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
}
