// Programs that fork.
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "../cases.h"

static void* churn(void* argument) {
  for (;;) free(malloc(300));
  return argument;
}

static void* generation(void* argument) {
  uintptr_t left = (uintptr_t)argument;
  char* p = malloc(5000);
  CHECK(p != NULL);
  fill(p, 5000, (unsigned)left);
  pthread_t churner;
  CHECK(pthread_create(&churner, NULL, churn, NULL) == 0);  // somebody is always inside malloc
  usleep(200);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(hang_seconds());
    CHECK(is_filled(p, 5000, (unsigned)left));
    free(p);
    if (left > 0) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, generation, (void*)(left - 1)) == 0);
      CHECK(pthread_join(thread, NULL) == 0);
    }
    exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  free(p);
  return NULL;
}

// A chain of twelve generations, each made by a thread of the one before: the caller lives on alone.
//@ broken-by fork_deadlock tls_dead
CASE(fork_chain) { generation((void*)12); }

enum { slots = 256 };
static void* shared[slots];
static int stop;

static void* churn_shared(void* argument) {
  unsigned state = (unsigned)(uintptr_t)argument;
  for (int step = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++step) {
    if (step % 100 == 0) usleep(100);  // leaves the children CPU time
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

// Four turns use 200 sizes up to 40 KB.
static void allocate_a_lot(int turn) {
  void* p[50];
  for (int i = 0; i < 50; ++i) {
    const size_t root = (size_t)(4 * i + turn % 4);
    p[i] = malloc(root * root + 1);
    CHECK(p[i] != NULL);
    fill(p[i], root * root + 1, (unsigned)i);
  }
  for (int i = 0; i < 50; ++i) {
    const size_t root = (size_t)(4 * i + turn % 4);
    CHECK(is_filled(p[i], root * root + 1, (unsigned)i));
    free(p[i]);
  }
}

static void child(int number) {
  alarm(hang_seconds());
  allocate_a_lot(number);
  for (int i = 0; i < slots; ++i) free(__atomic_exchange_n(&shared[i], NULL, __ATOMIC_ACQ_REL));
  allocate_a_lot(number);
  if (number % 8 == 0) {
    pid_t second = fork();
    if (second == 0) {
      alarm(hang_seconds());
      allocate_a_lot(number);
      _exit(0);
    }
    wait_for(second);
  }
  if (number % 16 == 1) execl("/bin/true", "true", (char*)NULL);
  if (number % 16 == 3) exit(0);
  _exit(0);
}

// fork while four threads allocate: the child allocates, frees the parent's blocks, forks and execs.
//@ broken-by fork_deadlock
CASE(fork_churn) {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, churn_shared, (void*)(i + 1)) == 0);
  }
  for (int number = 0; number < 300; ++number) {
    pid_t forked = fork();
    if (forked == 0) child(number);
    wait_for(forked);
    allocate_a_lot(number);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

// fork while four threads allocate and a thread of the allocator gives memory back.
//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=1
//@ env TARN_PURGE_DELAY_MS=1
//@ broken-by fork_deadlock
CASE(fork_churn_purged) { case_fork_churn(argument_count, arguments); }

enum { sharers = 24, shared_forks = 60, blocks_of_child = 400 };

static void* churn_sizes(void* argument) {
  unsigned state = (unsigned)(uintptr_t)argument;
  char* blocks[64] = {0};
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    state = state * 1664525 + 1013904223;
    char** block = &blocks[state >> 26];
    free(*block);
    *block = malloc((state >> 8) % 2000 + 1);
  }
  for (int i = 0; i < 64; ++i) free(blocks[i]);
  return NULL;
}

static void* fork_often(void* argument) {
  free(malloc(1));  // from here on it shares a heap with some of the others
  for (int number = 0; number < shared_forks; ++number) {
    pid_t forked = fork();
    if (forked == 0) {
      alarm(hang_seconds());
      char* blocks[blocks_of_child];
      for (int i = 0; i < blocks_of_child; ++i) {
        size_t size = (size_t)i * 5 + 1;
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        fill(blocks[i], size, (unsigned)i);
      }
      for (int i = 0; i < blocks_of_child; ++i) {
        CHECK(is_filled(blocks[i], (size_t)i * 5 + 1, (unsigned)i));
        free(blocks[i]);
      }
      _exit(0);
    }
    wait_for(forked);
  }
  return argument;
}

// A thread forks while others change the heap that they share with it: the child must find it whole, and open.
//@ env TARN_THREAD_HEAPS=1
//@ broken-by fork_deadlock
CASE(fork_of_shared_heaps) {
  pthread_t threads[sharers], forker;
  for (uintptr_t i = 0; i < sharers; ++i) CHECK(pthread_create(&threads[i], NULL, churn_sizes, (void*)(i + 1)) == 0);
  CHECK(pthread_create(&forker, NULL, fork_often, NULL) == 0);
  CHECK(pthread_join(forker, NULL) == 0);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < sharers; ++i) pthread_join(threads[i], NULL);
}

enum { givers = 8, given_blocks = 1500 };
static char* handed_blocks[givers][given_blocks];
static pthread_barrier_t round_turn;  // after the blocks are handed over, and after they are freed
static bool is_last_round;

static void* give_and_sleep(void* argument) {
  char** blocks = argument;
  do {
    for (int i = 0; i < given_blocks; ++i) CHECK((blocks[i] = malloc(3000)) != NULL);
    pthread_barrier_wait(&round_turn);
    pthread_barrier_wait(&round_turn);
  } while (!is_last_round);
  return argument;
}

static void* fork_often_and_stop(void* argument) {
  fork_often(argument);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  return argument;
}

// The thread that frees the blocks takes them into the heap of those who sleep, while another one forks.
//@ env TARN_THREAD_HEAPS=1
//@ broken-by fork_deadlock
CASE(fork_beside_frees_for_sleepers) {
  pthread_t threads[givers], forker;
  CHECK(pthread_barrier_init(&round_turn, NULL, givers + 1) == 0);
  free(malloc(1));
  for (int i = 0; i < givers; ++i) CHECK(pthread_create(&threads[i], NULL, give_and_sleep, handed_blocks[i]) == 0);
  CHECK(pthread_create(&forker, NULL, fork_often_and_stop, NULL) == 0);
  while (!is_last_round) {
    pthread_barrier_wait(&round_turn);
    for (int i = 0; i < givers; ++i) {
      for (int j = 0; j < given_blocks; ++j) free(handed_blocks[i][j]);
    }
    is_last_round = __atomic_load_n(&stop, __ATOMIC_RELAXED) != 0;
    pthread_barrier_wait(&round_turn);
  }
  CHECK(pthread_join(forker, NULL) == 0);
  for (int i = 0; i < givers; ++i) pthread_join(threads[i], NULL);
}

static void* allocate(void* argument) {
  for (size_t i = 0; i < 500; ++i) free(malloc(i * 7 + 1));
  return argument;
}

static void* forks(void* argument) {
  for (int i = 0; i < 40; ++i) {
    void* before[50];
    for (int j = 0; j < 50; ++j) before[j] = malloc((size_t)j * 100 + 1);
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      pthread_t threads[3];
      for (int j = 0; j < 3; ++j) CHECK(pthread_create(&threads[j], NULL, allocate, NULL) == 0);
      for (int j = 0; j < 50; ++j) free(before[j]);
      for (int j = 0; j < 3; ++j) CHECK(pthread_join(threads[j], NULL) == 0);
      exit(0);
    }
    for (int j = 0; j < 50; ++j) free(before[j]);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return argument;
}

// Two threads fork at the same time while they allocate; every child starts threads of its own.
//@ broken-by fork_deadlock
CASE(fork_from_threads) {
  pthread_t threads[2], extra;
  CHECK(pthread_create(&extra, NULL, churn, NULL) == 0);
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, forks, NULL) == 0);
  allocate(NULL);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void *made_before, *made_after;

static void prepare(void) {
  made_before = malloc(777);
  free(malloc(100000));
}

static void after(void) {
  free(made_before);
  made_after = malloc(777);
  free(made_after);
}

static void* churn_prepared(void* argument) {
  for (;;) free(malloc(777));
  return argument;
}

// pthread_atfork handlers of the program allocate and free, before and after the fork.
//@ broken-by fork_deadlock_handlers
CASE(fork_handlers) {
  CHECK(pthread_atfork(prepare, after, after) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, churn_prepared, NULL) == 0);
  for (int i = 0; i < 200; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      free(malloc(50));
      _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

// Frees and writes of the child do not reach the parent, and vice versa.
//@ broken-by shared_memory
CASE(fork_memory_apart) {
  enum { count = 500 };
  static char* p[count];
  for (int i = 0; i < count; ++i) {
    p[i] = malloc((size_t)i * 50 + 1);
    fill(p[i], (size_t)i * 50 + 1, (unsigned)i);
  }
  pid_t child = fork();
  for (int i = 0; i < count; ++i) {
    CHECK(is_filled(p[i], (size_t)i * 50 + 1, (unsigned)i));
    if (child == 0 || i % 2) {
      memset(p[i], 0xee, (size_t)i * 50 + 1);
      free(p[i]);
      memset(malloc((size_t)i * 50 + 1), 0xdd, (size_t)i * 50 + 1);
    }
  }
  if (child == 0) _exit(0);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int i = 0; i < count; i += 2) CHECK(is_filled(p[i], (size_t)i * 50 + 1, (unsigned)i));
}

enum { idle_blocks = 300, block_bytes = 1 << 20 };
static char* kept_blocks[idle_blocks];

static void use_all(void) {
  for (int i = 0; i < idle_blocks; ++i) {
    kept_blocks[i] = (char*)malloc(block_bytes);
    CHECK(kept_blocks[i] != NULL);
    memset(kept_blocks[i], i, block_bytes);
  }
  for (int i = 0; i < idle_blocks; ++i) {
    CHECK(kept_blocks[i][block_bytes / 2] == (char)i);
    free(kept_blocks[i]);
  }
}

static void fork_beside_helper(pid_t (*fork_child)(void)) {
  for (int round = 0; round < 6; ++round) {
    use_all();
    for (int i = 0; i < 20; ++i) {
      const pid_t child = fork_child();
      if (child == 0) {
        alarm(hang_seconds());
        for (int j = 0; j < 20; ++j) {
          char* block = (char*)malloc(block_bytes);
          CHECK(block != NULL);
          memset(block, 1, block_bytes);
          free(block);
        }
        malloc_trim(0);
        _exit(0);
      }
      int status = -1;
      CHECK(child > 0 && waitpid(child, &status, 0) == child);
      CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
  }
}

// A program of one thread frees much memory and forks while the helper of Tarn gives that memory back: a child must
// find no lock held and no purge begun by a helper that is not there.
//@ broken-by malloc_overlap
//@ env TARN_PURGE_DELAY_MS=4
CASE(fork_while_idle_purge_works) { fork_beside_helper(fork); }

// No handler of pthread_atfork runs here.
//@ broken-by malloc_overlap
//@ env TARN_PURGE_DELAY_MS=1
CASE(fork_without_handlers_while_idle_purge_works) { fork_beside_helper(_Fork); }

static int is_stopped(void) { return __atomic_load_n(&stop, __ATOMIC_RELAXED); }

static void* flush_all(void* argument) {
  for (int i = 0; !is_stopped(); ++i) {
    fflush(NULL);
    if (i % 100 == 0) usleep(100);  // leaves the others some CPU time
  }
  return argument;
}

// Each line is longer than the one before, so that getline allocates again and again under the lock of the stream.
static void* read_lines(void* argument) {
  static const char text[] =
      "a\nbb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb\n";
  FILE* stream = tmpfile();
  CHECK(stream != NULL);
  CHECK(fputs(text, stream) >= 0);
  while (!is_stopped()) {
    rewind(stream);
    char* line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stream) > 0) {
      free(line);
      line = NULL;
      room = 0;
    }
    free(line);
  }
  fclose(stream);
  return argument;
}

static void* open_and_close(void* argument) {
  while (!is_stopped()) {
    FILE* stream = fopen("/dev/null", "w");
    CHECK(stream != NULL);
    fputs("text", stream);
    fclose(stream);
  }
  return argument;
}

// fork while threads flush all streams, read lines from streams, and open and close streams. The C library holds the
// lock of a stream while getline allocates, and that of the list of streams while it waits for a stream.
//@ broken-by fork_deadlock
CASE(fork_while_streams_work) {
  void* (*const work[])(void*) = {flush_all, read_lines, read_lines, open_and_close};
  enum { count = sizeof work / sizeof *work };
  pthread_t threads[count];
  for (int i = 0; i < count; ++i) CHECK(pthread_create(&threads[i], NULL, work[i], NULL) == 0);
  alarm(5 * hang_seconds());
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      FILE* stream = fopen("/dev/null", "w");
      CHECK(stream != NULL && fputs("text", stream) >= 0);
      CHECK(fflush(NULL) == 0 && fclose(stream) == 0);
      free(malloc(100));
      _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

// Forks while streams work, with every allocation sampled: the lock of the slots, too, is taken after the lock of the
// list of streams.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by text
CASE(sample_fork_while_streams_work) { case_fork_while_streams_work(argument_count, arguments); }
