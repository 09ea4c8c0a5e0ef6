// Limits, descriptors and the environment of a process.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../support/call_filter.h"
#include "../cases.h"
#include "../take_all.h"

// Under ulimit -v of 64 MiB at least 36 MiB reach the program in 1 KiB blocks; then null, ENOMEM,
// and when all is freed, the same again and in blocks of other sizes.
//@ limit as=64M
//@ broken-by reserves_much no_errno
CASE(ulimit_v_64) { check_usable_bytes((size_t)36 << 20); }

// Under ulimit -v of 128 MiB at least 90 MiB reach the program in 1 KiB blocks; then null, ENOMEM,
// and when all is freed, the same again and in blocks of other sizes.
//@ limit as=128M
//@ broken-by reserves_much no_errno
CASE(ulimit_v_128) { check_usable_bytes((size_t)90 << 20); }

// Under ulimit -v of 512 MiB at least 440 MiB reach the program in 1 KiB blocks; then null, ENOMEM,
// and when all is freed, the same again and in blocks of other sizes.
//@ limit as=512M
//@ broken-by reserves_much no_errno
CASE(ulimit_v_512) { check_usable_bytes((size_t)440 << 20); }

static pthread_barrier_t barrier;
static size_t total;

static void* use_up(void* argument) {
  for (int round = 0; round < 3; ++round) {
    void** last = NULL;
    pthread_barrier_wait(&barrier);
    errno = 0;
    for (void** p; (p = malloc(5000)) != NULL; last = p) {
      *p = last;
      if (round == 0) __atomic_add_fetch(&total, 5000, __ATOMIC_RELAXED);
    }
    CHECK(errno == ENOMEM);
    pthread_barrier_wait(&barrier);
    while (last != NULL) {
      void** next = *last;
      free(last);
      last = next;
    }
    pthread_barrier_wait(&barrier);
    free(argument = malloc(100));
    CHECK(argument != NULL);
  }
  return NULL;
}

// Eight threads under ulimit -v of 256 MiB use up all there is, see ENOMEM, free, and go on.
//@ limit as=256M
//@ broken-by reserves_much no_errno
CASE(ulimit_v_threads) {
  pthread_t threads[8];
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
  CHECK(pthread_barrier_init(&barrier, NULL, 8) == 0);
  for (int i = 0; i < 8; ++i) CHECK(pthread_create(&threads[i], &small, use_up, NULL) == 0);
  for (int i = 0; i < 8; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(total > (size_t)100 << 20);
}

static void* take_bytes(void* bytes) {
  size_t had = 0;
  while (had < (size_t)bytes) {
    char* block = malloc(1000);
    CHECK(block != NULL);
    block[999] = 1;
    had += 1000;
  }
  return NULL;
}

// A program that limits its own address space to 100 MB once it runs still gets most of that, in its first thread and
// in another one.
//@ limit as=100000G
//@ broken-by reserves_much
CASE(limit_set_late) {
  static const size_t limits[] = {100, 200, 300};
  free(malloc(1));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  for (int i = 0; i < 3; ++i) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = limits[i] << 20;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    take_bytes((void*)((size_t)20 << 20));
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, take_bytes, (void*)((size_t)10 << 20)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

#define GIB ((size_t)1 << 30)

static void use_gigabytes(size_t bytes) {
  const size_t before = resident_bytes();
  char* block = malloc(bytes);
  CHECK(block != NULL);
  block[0] = block[bytes - 1] = 1;
  CHECK(resident_bytes() < before + ((size_t)4 << 20));
  char* zeroed = calloc(bytes, 1);
  CHECK(zeroed != NULL && zeroed[bytes / 2] == 0);
  free(zeroed);
  free(block);
  CHECK(resident_bytes() < before + ((size_t)4 << 20));
}

// A program that has reserved most of the address space, as Java, databases and sanitizers do, gets large and small
// blocks from the rest; and a terabyte on any machine, which costs only the touched pages.
//@ limit as=100000G
//@ broken-by plain
CASE(reserved_address_space) {
  const size_t reserved[] = {0, 700, 1500, 2000, 20000, 60000};
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (size_t left = reserved[i]; left != 0; left -= 100) {
        CHECK(mmap(NULL, 100 * GIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
      }
      for (size_t size = 50; size <= 1600; size *= 2) use_gigabytes(size * GIB);
      for (int block = 0; block < 100000; ++block) CHECK(malloc(5000) != NULL);
      _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
}

static void* use_and_grow(void* argument) {
  for (size_t size = 1; size < (size_t)64 << 20; size *= 2) {
    char* p = malloc(size);
    CHECK(p != NULL);
    p[size - 1] = 1;
    p = realloc(p, size * 2);
    CHECK(p != NULL);
    free(p);
  }
  return argument;
}

// With RLIMIT_NOFILE at 0 nothing can be opened, and allocation works all the same.
//@ broken-by needs_fd
CASE(no_descriptors) {
  struct rlimit no_files = {0, 0};
  CHECK(setrlimit(RLIMIT_NOFILE, &no_files) == 0);
  use_and_grow(NULL);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_and_grow, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
}

static void* use_doubling(void* argument) {
  for (size_t size = 1; size < (size_t)64 << 20; size *= 2) free(memset(malloc(size), 1, size));
  return argument;
}

// Descriptors 0 to 2 are closed from the start: the allocator opens nothing in their place.
//@ closed 0 1 2
//@ broken-by opens_fd
CASE(closed_descriptors) {
  pthread_t thread;
  use_doubling(NULL);
  CHECK(pthread_create(&thread, NULL, use_doubling, NULL) == 0 && pthread_join(thread, NULL) == 0);
  for (int i = 0; i < 10; ++i) CHECK(open("/dev/null", O_RDWR) == i);
}

extern char** environ;

// An empty environment, and one that is cleared and rebuilt while the program allocates.
//@ env nothing
//@ broken-by needs_environment
CASE(no_environment) {
  CHECK(getenv("PATH") == NULL);
  for (int round = 0; round < 100; ++round) {
    CHECK(clearenv() == 0 && environ == NULL);
    char* p = malloc(1000);
    CHECK(p != NULL);
    char name[20], value[300];
    for (int i = 0; i < 50; ++i) {
      snprintf(name, sizeof name, "NAME_%d", i);
      memset(value, 'v', sizeof value);
      value[i * 5] = 0;
      CHECK(setenv(name, value, 1) == 0 && strlen(getenv(name)) == (size_t)i * 5);
    }
    free(p);
  }
}

// A program that moves the break itself keeps its memory; the allocator does not build on it.
//@ broken-by uses_break
CASE(sbrk_user) {
  char* start = sbrk(0);
  for (int i = 0; i < 200; ++i) {
    char* own_bytes = sbrk(10000);
    CHECK(own_bytes != (void*)-1);
    fill(own_bytes, 10000, (unsigned)i);
    char* p = malloc((size_t)i * 1000 + 1);
    CHECK(p != NULL);
    memset(p, 0xee, (size_t)i * 1000 + 1);
    CHECK(is_filled(own_bytes, 10000, (unsigned)i));
    if (i % 2) free(p);
  }
  CHECK(start != (void*)-1);
}

static void* use_heap(void* unused) {
  for (int i = 0; i < 100; ++i) free(memset(malloc(1000), 1, 1000));
  return unused;
}

// A program that restricts itself is killed if a thread that starts later opens a file. Ten threads at once have no
// heap of an ended thread.
//@ env TARN_INITIAL=8MiB
//@ broken-by needs_fd
CASE(threads_open_no_files) {
  free(malloc(1));
  CHECK(filter_call(SYS_openat, SECCOMP_RET_KILL_PROCESS) == 0);
  pthread_t threads[10];
  for (int i = 0; i < 10; ++i) CHECK(pthread_create(&threads[i], NULL, use_heap, NULL) == 0);
  for (int i = 0; i < 10; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}
