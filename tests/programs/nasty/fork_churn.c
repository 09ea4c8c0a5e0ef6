// fork while four threads allocate: the child allocates, frees the parent's blocks, forks and execs.
//@ broken-by fork_deadlock
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

enum { slots = 256 };
static void* shared[slots];
static int stop;

static void* churn(void* argument) {
  unsigned state = (unsigned)(uintptr_t)argument;
  for (int step = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++step) {
    if (step % 1000 == 0) usleep(100);  // leaves the children some processor time
    void* p = malloc(next_random(&state) % (next_random(&state) % 512 ? 2000 : 200000) + 1);
    CHECK(p != NULL);
    *(char*)p = 1;
    free(__atomic_exchange_n(&shared[next_random(&state) % slots], p, __ATOMIC_ACQ_REL));
  }
  return NULL;
}

static void wait_for(pid_t child) {
  int status = -1;
  CHECK(child > 0);
  while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);  // a hang ends in SIGALRM
}

static void allocate_a_lot(void) {
  void* p[200];
  for (int i = 0; i < 200; ++i) {
    p[i] = malloc((size_t)i * i + 1);
    CHECK(p[i] != NULL);
    fill(p[i], (size_t)i * i + 1, (unsigned)i);
  }
  for (int i = 0; i < 200; ++i) {
    CHECK(is_filled(p[i], (size_t)i * i + 1, (unsigned)i));
    free(p[i]);
  }
}

static void child(int number) {
  alarm(hang_seconds());
  allocate_a_lot();
  for (int i = 0; i < slots; ++i) free(__atomic_exchange_n(&shared[i], NULL, __ATOMIC_ACQ_REL));
  allocate_a_lot();
  if (number % 8 == 0) {
    pid_t second = fork();
    if (second == 0) {
      alarm(hang_seconds());
      allocate_a_lot();
      _exit(0);
    }
    wait_for(second);
  }
  if (number % 16 == 1) execl("/bin/true", "true", (char*)NULL);
  if (number % 16 == 3) exit(0);
  _exit(0);
}

int main(void) {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, churn, (void*)(i + 1)) == 0);
  }
  for (int number = 0; number < 300; ++number) {
    pid_t forked = fork();
    if (forked == 0) child(number);
    wait_for(forked);
    allocate_a_lot();
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return 0;
}
