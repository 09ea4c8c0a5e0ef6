// Children from signal handlers, and children without fork handlers.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "../cases.h"

enum { slots = 200, forks_wanted = 150 };
static volatile sig_atomic_t forks, is_child;

static void fork_here(int number) {
  (void)number;
  const int saved = errno;
  if (is_child || forks == forks_wanted) return;
  forks = forks + 1;
  const pid_t child = fork();
  if (child == 0) {
    alarm(hang_seconds());
    if (forks % 2 == 0) _exit(0);
    is_child = 1;
  } else {
    int status = -1;
    CHECK(child > 0);
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    alarm(hang_seconds());
  }
  errno = saved;
}

// Mostly what needs a lock of the allocator: blocks of their own, and new memory for small ones.
static void churn_slots(unsigned* state) {
  static char* block[slots];
  const unsigned slot = next_random(state) % slots;
  free(block[slot]);
  const size_t bytes = next_random(state) % 4 == 0 ? next_random(state) % 300 + 1 : next_random(state) % 500000 + 1;
  block[slot] = (char*)malloc(bytes);
  CHECK(block[slot] != NULL);
  block[slot][0] = block[slot][bytes - 1] = 1;
}

// A program of one thread forks in a signal handler that interrupts malloc and free. Some children end there; others
// return from the handler, finish the call that was interrupted, and go on.
//@ broken-by fork_deadlock_handlers
CASE(fork_in_signal_handler) {
  free(malloc(777));  // a late allocator installs its handlers now
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = fork_here;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGVTALRM, &action, NULL) == 0);
  const struct itimerval often = {{0, 1000}, {0, 1000}};  // of CPU time, so that it always makes progress
  CHECK(setitimer(ITIMER_VIRTUAL, &often, NULL) == 0);
  alarm(hang_seconds());
  unsigned state = 1;
  int left = 300;  // calls of a child
  while (forks < forks_wanted && left != 0) {
    churn_slots(&state);
    if (is_child) --left;
  }
}

extern char** environ;

static void wait_for(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void* churn_sizes(void* argument) {
  for (unsigned state = 1;;) free(malloc(next_random(&state) % 200000));
  return argument;
}

static void allocate_a_lot(void) {
  for (size_t bytes = 1; bytes < 3000000; bytes = bytes * 4 / 3 + 1) {
    void* block = malloc(bytes);
    CHECK(block != NULL);
    fill(block, bytes, 3);
    CHECK(is_filled(block, bytes, 3));
    free(block);
  }
}

// Children that run no fork handlers: _Fork of a program of one thread, whose child allocates; vfork, posix_spawn and
// system while threads allocate.
//@ broken-by fork_deadlock
CASE(fork_without_handlers) {
  alarm(3 * hang_seconds());
  void* block = malloc(1000);
  const pid_t child = _Fork();
  if (child == 0) {
    free(block);
    allocate_a_lot();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, churn_sizes, NULL) == 0);
    for (int i = 0; i < 20; ++i) {
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        alarm(hang_seconds());
        allocate_a_lot();
        _exit(0);
      }
      wait_for(grandchild);
    }
    _exit(0);
  }
  wait_for(child);

  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, churn_sizes, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    char program[] = "/bin/true";
    char* const arguments[] = {program, NULL};
    pid_t spawned;
    CHECK(posix_spawn(&spawned, program, NULL, NULL, arguments, environ) == 0);
    wait_for(spawned);
    const pid_t shared = vfork();
    if (shared == 0) {
      execv(program, arguments);
      _exit(1);
    }
    wait_for(shared);
    CHECK(system(program) == 0);
  }
}

static void* churn_small(void* argument) {
  for (unsigned state = 3;;) free(malloc(next_random(&state) % 5000));
  return argument;
}

// vfork with exec, posix_spawn, system and popen while other threads allocate.
//@ broken-by knows_thread_by_id
CASE(vfork_exec) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, churn_small, NULL) == 0);
  for (int i = 0; i < 25; ++i) {
    void* p = malloc(3000);
    pid_t child = vfork();
    if (child == 0) {
      free(malloc(3000));  // shares memory and thread-locals with the parent
      execl("/bin/true", "true", (char*)NULL);
      _exit(1);
    }
    wait_for(child);
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, 7, "/dev/null", 0, 0) == 0);
    char* arguments[] = {"true", NULL};
    CHECK(posix_spawn(&child, "/bin/true", &actions, NULL, arguments, environ) == 0);
    wait_for(child);
    posix_spawn_file_actions_destroy(&actions);
    if (i % 5 == 0) {
      CHECK(system("exit 0") == 0);
      FILE* out = popen("echo tarn", "r");
      char line[20] = "";
      CHECK(out != NULL && fgets(line, sizeof line, out) && strcmp(line, "tarn\n") == 0);
      CHECK(pclose(out) == 0);
    }
    free(p);
  }
}
