// Children that run no fork handlers: _Fork of a program of one thread, whose child allocates; vfork, posix_spawn and
// system while threads allocate.
//@ broken-by fork_deadlock
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include "../check.h"

extern char** environ;

static void wait_for(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void* churn(void* argument) {
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

int main(void) {
  alarm(3 * hang_seconds());
  void* kept = malloc(1000);
  const pid_t child = _Fork();
  if (child == 0) {
    free(kept);
    allocate_a_lot();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
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
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    char program[] = "/bin/true";
    char* const words[] = {program, NULL};
    pid_t spawned;
    CHECK(posix_spawn(&spawned, program, NULL, NULL, words, environ) == 0);
    wait_for(spawned);
    const pid_t shared = vfork();
    if (shared == 0) {
      execv(program, words);
      _exit(1);
    }
    wait_for(shared);
    CHECK(system(program) == 0);
  }
  return 0;
}
