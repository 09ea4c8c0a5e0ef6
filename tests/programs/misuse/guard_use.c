// Guarded blocks that are used or freed after they were freed.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "../cases.h"
#include "../guarded.h"

// A block is freed twice: the report names the first free.
//@ stderr tarn: free({p}): double free of a block of 24 bytes; freed before at {program}+0xADDR by thread
//@ more {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(guard_double_free) {
  void* p = malloc(24);
  note_guarded(p);
  free(p);
  free(hidden(p));
}

enum { raced_count = 1000 };
static void* raced_blocks[raced_count];
static pthread_barrier_t barrier;

static void* release_all(void* argument) {
  if (argument == NULL) pthread_barrier_wait(&barrier);
  for (int i = 0; i < raced_count; ++i) free(raced_blocks[i]);
  return NULL;
}

// Two threads free a block at the same time: one of them is told.
//@ stderr tarn: free(0xADDR): double free of a block of 2000 bytes; freed before at {program}+0xADDR by thread
//@ more <int>; allocated at {program}+0xADDR by thread <int>
//@ stderr tarn: free each block once: remove one of these two frees
CASE(guard_double_free_at_the_same_time) {
  pthread_t thread;
  note_guarded(NULL);
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  for (int i = 0; i < raced_count; ++i) raced_blocks[i] = malloc(2000);
  CHECK(pthread_create(&thread, NULL, release_all, NULL) == 0);
  release_all(NULL);
  CHECK(pthread_join(thread, NULL) == 0);
}

// A large block freed again after so many others that nothing is known of it.
//@ stderr tarn: free({p}): double free of a block that was freed long ago
//@ stderr tarn: free each block once; TARN_GUARD remembers the places of the last 8192 frees
CASE(guard_double_free_forgotten) {
  empty_quarantine();  // so that the later blocks need no new memory, which could lie where this block was
  void* p = malloc(64 << 20);
  note_guarded(p);
  free(p);
  empty_quarantine();
  empty_quarantine();
  free(hidden(p));
}

// A block too large for the quarantine freed twice.
//@ stderr tarn: free({p}): double free of a block of 8388608 bytes; freed before at {program}+0xADDR by thread
//@ more {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(guard_double_free_large) {
  void* p = malloc(8 << 20);
  note_guarded(p);
  free(p);
  free(hidden(p));
}

// A block freed again when it is not in quarantine any more.
//@ stderr tarn: free({p}): double free of a block of 5000 bytes; freed before at {program}+0xADDR by thread
//@ more {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(guard_double_free_remembered) {
  void* p = malloc(5000);
  note_guarded(p);
  free(p);
  empty_quarantine();
  free(hidden(p));
}

static void* release(void* p) {
  free(p);
  return NULL;
}

// Freed once by each of two threads, neither of which owns it: seen at once, and both are named.
//@ stderr tarn: free({p}): double free of a block of 64 bytes; freed before at {program}+0xADDR by thread
//@ more <int>; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(guard_double_free_two_threads) {
  void* p = malloc(64);
  note_guarded(p);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, release, hidden(p)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

// The program wrote over the freed block before it freed it again.
//@ stderr tarn: free({p}): double free of a block of 128 bytes; freed before at {program}+0xADDR by thread
//@ more {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(guard_double_free_wiped) {
  char* p = malloc(128);
  note_guarded(p);
  free(p);
  memset(hidden(p), 0x41, 128);
  free(hidden(p));
}

// A write to a freed block, found when the block is to be used again.
//@ stderr tarn: use after free: byte 16 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
CASE(guard_use_after_free) {
  char* p = malloc(24);
  note_guarded(p);
  free(p);
  ((char*)hidden(p))[16] = 0;
  empty_quarantine();
  _exit(1);
}

// A write to a freed block, found when the program ends.
//@ stderr tarn: use after free: byte 65535 of the block of 70000 bytes at {p} was written after it was freed
//@ more at {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
CASE(guard_use_after_free_at_exit) {
  char* p = malloc(70000);
  note_guarded(p);
  free(p);
  ((char*)hidden(p))[65535] = 0;
}

// A write to a freed block in a forked child, which has its own copy of the quarantine.
//@ stderr tarn: use after free: byte 2 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
//@ exit 0
CASE(guard_use_after_free_in_child) {
  char* p = malloc(24);
  note_guarded(p);
  free(p);
  if (fork() == 0) {
    ((char*)hidden(p))[2] = 0;
    exit(0);  // faults here
  }
  int status = 0;
  CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void* make_noted(void* argument) {
  note_size("maker", (size_t)gettid());
  return argument == NULL ? malloc(64) : NULL;
}

static void* release_noted(void* p) {
  note_size("freer", (size_t)gettid());
  free(p);
  return NULL;
}

// A write to a block that another thread allocated and a third one freed.
//@ stderr tarn: use after free: byte 0 of the block of 64 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {freer}; allocated at {program}+0xADDR by thread {maker}
//@ stderr tarn: end every use of the block before its free
CASE(guard_use_after_free_in_thread) {
  pthread_t thread;
  void* p;
  CHECK(pthread_create(&thread, NULL, make_noted, NULL) == 0 && pthread_join(thread, &p) == 0);
  note_guarded(p);
  CHECK(pthread_create(&thread, NULL, release_noted, p) == 0 && pthread_join(thread, NULL) == 0);
  ((char*)hidden(p))[0] = 0;
  empty_quarantine();
}

// A pointer from before a realloc that looked as if it had not moved.
//@ stderr tarn: use after free: byte 1 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
CASE(guard_use_after_realloc) {
  char* p = malloc(24);
  note_guarded(p);
  char* q = realloc(p, 25);
  CHECK(q != NULL && q != p);
  ((char*)hidden(p))[1] = 0;
}

// Memory of malloc is filled with a pattern, that of calloc with zeros, all of it.
//@ exit 0
CASE(guard_fresh_memory) {
  unsigned char pattern[5000];
  memset(pattern, 0xcd, sizeof pattern);
  for (size_t size = 0; size <= sizeof pattern; size += 7) {
    char* p = malloc(size);
    CHECK(memcmp(p, pattern, size) == 0);
    memset(p, 1, size);
    free(p);
    p = calloc(1, size);
    CHECK(is_zero(p, size));
    free(p);
    p = aligned_alloc(64, size);
    CHECK(memcmp(p, pattern, size) == 0 && is_aligned(p, 64));
    free(p);
  }
}

// Blocks in quarantine are given up before an allocation fails.
//@ env TARN_LIMIT=12M
//@ exit 0
CASE(guard_quarantine_gives_way) {
  for (int i = 0; i < 200; ++i) {
    char* p = malloc(1 << 20);
    CHECK(p != NULL && (unsigned char)p[0] == 0xcd);
    free(p);
  }
}

// realloc always moves, and keeps the contents.
//@ exit 0
CASE(guard_realloc_moves) {
  char* p = malloc(1);
  p[0] = 'a';
  for (size_t size = 2; size < 20000; ++size) {
    char* q = realloc(p, size);
    CHECK(q != NULL && q != p && malloc_usable_size(q) == size);
    q[size - 1] = (char)('a' + size % 26);
    p = q;
  }
  for (size_t size = 2; size < 20000; ++size) CHECK(p[size - 1] == (char)('a' + size % 26));
  p = realloc(p, 10);
  for (size_t size = 2; size < 10; ++size) CHECK(p[size - 1] == (char)('a' + size % 26));
  free(p);
}

// A block left alone in quarantine can be used again: nothing is reported.
//@ exit 0
CASE(guard_reused) {
  for (int i = 0; i < 30000; ++i) {
    unsigned char* p = malloc((size_t)i % 2000);
    CHECK(i % 2000 == 0 || (p[0] == 0xcd && p[i % 2000 - 1] == 0xcd));
    memset(p, i, (size_t)i % 2000);
    free(p);
  }
}

// Puts code into sections of its own, whose bounds are known.
#define PLACE(name) __attribute__((noinline, section(#name)))
extern char __start_make_here[], __stop_make_here[], __start_free_here[], __stop_free_here[];

PLACE(make_here) static void* make_in_section(int way) {
  switch (way) {
    case 0: return malloc(40);
    case 1: return calloc(4, 10);
    case 2: return realloc(NULL, 40);
    case 3: return reallocarray(NULL, 4, 10);
    case 4: return aligned_alloc(64, 40);
    case 5: return memalign(4096, 40);
    default: {
      void* p = NULL;
      CHECK(posix_memalign(&p, 32, 40) == 0);
      return p;
    }
  }
}

PLACE(free_here) static void release_in_section(void* p, int way) {
  if (way % 2 == 0) {
    free(p);
  } else {
    CHECK(realloc(p, 0) == NULL);
  }
}

static void release_again(void* p) { free(hidden(p)); }

static int base_of(struct dl_phdr_info* info, size_t size, void* base) {
  *(uintptr_t*)base = info->dlpi_addr;
  return size != 0;  // the first is the program
}

// Returns the site behind `prefix` as an address.
static uintptr_t site(const char* text, const char* prefix) {
  char path[4096] = "";
  uintptr_t base = 0;
  CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  dl_iterate_phdr(base_of, &base);
  const char* position = strstr(text, prefix);
  CHECK(position != NULL && strncmp(position + strlen(prefix), path, strlen(path)) == 0);
  position += strlen(prefix) + strlen(path);
  CHECK(strncmp(position, "+0x", 3) == 0);
  return base + strtoul(position + 3, NULL, 16);
}

// The sites of a report are the calls of malloc and free, to the byte.
//@ exit 0
CASE(guard_sites) {
  for (int way = 0; way < 7; ++way) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    if (fork() == 0) {
      CHECK(dup2(ends[1], 2) == 2);
      void* p = make_in_section(way);
      release_in_section(p, way);
      release_again(p);
      _exit(0);
    }
    close(ends[1]);
    char text[4096] = "";
    size_t length = 0;
    for (ssize_t count; (count = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)count;
    close(ends[0]);
    CHECK(wait(NULL) > 0);
    uintptr_t allocation_site = site(text, "allocated at "), free_site = site(text, "freed before at ");
    CHECK(allocation_site >= (uintptr_t)__start_make_here && allocation_site < (uintptr_t)__stop_make_here);
    CHECK(free_site >= (uintptr_t)__start_free_here && free_site < (uintptr_t)__stop_free_here);
  }
}
