// malloc and free.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "../cases.h"

// Blocks of many sizes live side by side and keep their content.
//@ broken-by malloc_short malloc_overlap
CASE(malloc_writes) {
  enum { count = 400 };
  static unsigned char* blocks[count];
  static size_t sizes[count];
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < count; ++i) {
      sizes[i] = (size_t)i * i + 1 + (size_t)round * 37;
      blocks[i] = malloc(sizes[i]);
      CHECK(blocks[i] != NULL);
      fill(blocks[i], sizes[i], (unsigned)i);
    }
    for (int i = 0; i < count; ++i) {
      CHECK(is_filled(blocks[i], sizes[i], (unsigned)i));
      free(blocks[i]);
    }
  }
}

// Every request of no bytes gives a pointer of its own that can be freed.
//@ broken-by zero_is_null zero_is_same
CASE(malloc_zero) {
  enum { count = 300 };
  void* p[count];
  for (int i = 0; i < count; i += 5) {
    p[i] = malloc(0);
    p[i + 1] = calloc(0, 8);
    p[i + 2] = calloc(8, 0);
    p[i + 3] = realloc(NULL, 0);
    CHECK(posix_memalign(&p[i + 4], 64, 0) == 0);
  }
  for (int i = 0; i < count; ++i) {
    CHECK(p[i] != NULL);
    for (int j = 0; j < i; ++j) CHECK(p[i] != p[j]);
  }
  for (int i = 0; i < count; ++i) free(p[i]);
}

// Blocks from 1 MiB to 300 MiB: first and last byte usable, contents apart, memory given back.
//@ broken-by malloc_overlap free_leaks
//@ limit as=2G
CASE(malloc_large) {
  for (int round = 0; round < 20; ++round) {
    unsigned char* previous = NULL;
    for (size_t size = (size_t)1 << 20; size <= (size_t)300 << 20; size = size * 2 + 4097) {
      unsigned char* p = malloc(size);
      CHECK(p != NULL && is_aligned(p, 16));
      p[0] = p[size - 1] = (unsigned char)(size >> 12);
      CHECK(previous == NULL || previous[0] == (unsigned char)(((size - 4097) / 2) >> 12));
      free(previous);
      previous = p;
    }
    free(previous);
  }
}

static void check(const void* p, size_t size) {
  CHECK(p != NULL);
  CHECK(is_aligned(p, size < 16 ? 8 : 16));
}

// Every size is aligned to 16; below 16 bytes an alignment of 8 is enough.
//@ broken-by malloc_odd
CASE(alignment) {
  void* before = NULL;
  for (size_t size = 1; size < 70000; size += size < 2100 ? 1 : 13) {
    void* a = malloc(size);
    check(a, size);
    void* b = calloc(1, size);
    check(b, size);
    a = realloc(a, size + 9);
    check(a, size + 9);
    free(before);
    free(b);
    before = a;
  }
  free(before);
}

static void refused(void* p) {
  CHECK(p == NULL);
  CHECK(errno == ENOMEM);
  errno = 0;
}

// Nothing larger than PTRDIFF_MAX is ever handed out: null and ENOMEM from every function.
//@ broken-by no_errno ptrdiff_granted
CASE(ptrdiff_max) {
  const size_t limit = PTRDIFF_MAX;
  volatile size_t sizes[] = {limit + 1,     limit + 2,    limit + 4096, SIZE_MAX - 4096,
                             SIZE_MAX - 16, SIZE_MAX - 1, SIZE_MAX,     limit};
  errno = 0;
  for (int i = 0; i < 8; ++i) {
    refused(malloc(sizes[i]));
    refused(calloc(1, sizes[i]));
    refused(calloc(sizes[i], 1));
    refused(realloc(NULL, sizes[i]));
    refused(reallocarray(NULL, 1, sizes[i]));
    refused(aligned_alloc(16, sizes[i]));
    refused(aligned_alloc(4096, sizes[i]));
    refused(memalign((size_t)1 << 21, sizes[i]));
    refused(valloc(sizes[i]));
    refused(pvalloc(sizes[i]));
  }
}

// Sizes that the machine cannot back but that fit the type fail cleanly, and small ones still work.
//@ limit as=8G
//@ broken-by no_errno
CASE(huge_virtual) {
  for (int bits = 34; bits < 63; ++bits) {
    errno = 0;
    CHECK(malloc((size_t)1 << bits) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc((size_t)1 << (bits - 5), 32) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(aligned_alloc(64, (size_t)1 << bits) == NULL && errno == ENOMEM);
    char* p = malloc((size_t)bits * 100);
    CHECK(p != NULL);
    p[0] = 1;
    free(p);
  }
}

// No call that succeeds sets errno to 0, and none leaves a stale ENOMEM behind.
//@ broken-by clears_errno
CASE(success_keeps_errno) {
  void* p = NULL;
  errno = 4711;
  for (size_t size = 1; size < (size_t)8 << 20; size = size * 2 + 1) {
    free(malloc(size));
    free(calloc(1, size));
    p = realloc(p, size);
    CHECK(p != NULL);
    free(aligned_alloc(64, size));
    CHECK(errno == 4711);
  }
  free(p);
}

// free leaves errno alone, for null, small, large and aligned blocks, and in long runs of frees.
//@ broken-by free_errno
CASE(free_keeps_errno) {
  enum { count = 3000 };
  static void* p[count];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) {
      size_t size = i % 50 == 0 ? (size_t)1 << 20 : (size_t)i * 11 + 1;
      p[i] = i % 3 ? malloc(size) : aligned_alloc(256, size);
      CHECK(p[i] != NULL);
    }
    for (int i = 0; i < count; ++i) {
      errno = 4711;
      free(p[i]);
      CHECK(errno == 4711);
    }
  }
  errno = 4712;
  free(NULL);
  CHECK(errno == 4712);
}

static void* make(int kind, size_t size) {
  void* p = NULL;
  switch (kind) {
    case 0: return malloc(size);
    case 1: return calloc(1, size);
    case 2: return realloc(NULL, size);
    case 3: return reallocarray(NULL, size, 1);
    case 4: return aligned_alloc(32, size);
    case 5: return memalign(64, size);
    case 6: return valloc(size);
    case 7: return pvalloc(size);
    case 8: return memset(malloc(size + 1), 'a', size);
    default: return posix_memalign(&p, 128, size) == 0 ? p : NULL;
  }
}

// Blocks of every allocating function go to every releasing one.
//@ broken-by memalign_not_freeable
CASE(one_family) {
  for (int kind = 0; kind < 10; ++kind) {
    for (size_t size = 1; size < 3000000; size = size * 5 + 1) {
      for (int release = 0; release < 3; ++release) {
        char* p = make(kind, size);
        CHECK(p != NULL);
        fill(p, size, (unsigned)kind);
        if (release == 1) p = realloc(p, size + 100);
        if (release == 2) p = reallocarray(p, size, 3);
        CHECK(p != NULL && is_filled(p, size, (unsigned)kind) && malloc_usable_size(p) >= size);
        free(p);
      }
    }
  }
}

// A hundred thousand random operations of every kind, each block's contents checked when it goes.
//@ broken-by malloc_overlap realloc_drops calloc_dirty
CASE(churn) {
  enum { count = 700 };
  static char* p[count];
  static size_t size[count];
  unsigned state = 5;
  for (int step = 0; step < 100000; ++step) {
    unsigned i = next_random(&state) % count, kind = next_random(&state) % 8;
    size_t new_size = (size_t)1 << (next_random(&state) % (step % 50 ? 12 : 19));
    new_size += next_random(&state) % new_size;
    CHECK(p[i] == NULL || is_filled(p[i], size[i] > 300 ? 300 : size[i], i));
    if (kind < 2 && p[i] != NULL) {
      p[i] = realloc(p[i], new_size);
      CHECK(p[i] != NULL);
      size_t common_size = size[i] < new_size ? size[i] : new_size;
      CHECK(is_filled(p[i], common_size > 300 ? 300 : common_size, i));
    } else {
      free(p[i]);
      p[i] = kind == 2 ? aligned_alloc(64, new_size) : kind == 3 ? calloc(1, new_size) : malloc(new_size);
      CHECK(p[i] != NULL && (kind != 3 || is_zero(p[i], new_size)));
    }
    size[i] = new_size;
    fill(p[i], new_size > 300 ? 300 : new_size, i);
    p[i][new_size - 1] = new_size > 300 ? 1 : p[i][new_size - 1];
  }
  for (int i = 0; i < count; ++i) free(p[i]);
}

enum { slots = 512 };

struct block {
  size_t size;
  unsigned seed;
  unsigned char bytes[];
};

static struct block* shared[slots];

static void* work(void* argument) {
  unsigned state = (unsigned)(uintptr_t)argument;
  for (int step = 0; step < 60000; ++step) {
    size_t size = next_random(&state) % (step % 100 ? 600 : 60000);
    struct block* b = malloc(sizeof *b + size);
    CHECK(b != NULL);
    b->size = size;
    b->seed = next_random(&state);
    fill(b->bytes, size, b->seed);
    b = __atomic_exchange_n(&shared[next_random(&state) % slots], b, __ATOMIC_ACQ_REL);
    if (b == NULL) continue;
    CHECK(is_filled(b->bytes, b->size, b->seed));
    if (step % 4 == 0) {
      size_t half_size = b->size / 2;
      b = realloc(b, sizeof *b + (step % 8 ? half_size : b->size * 2));
      CHECK(b != NULL && is_filled(b->bytes, half_size, b->seed));
    }
    free(b);
  }
  return NULL;
}

// Four threads swap blocks through shared slots: any thread frees or grows blocks of another.
//@ broken-by malloc_overlap realloc_drops
CASE(churn_threads) {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work, (void*)(i + 1)) == 0);
  }
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < slots; ++i) free(shared[i]);
}

// The whole family comes from the drop-in: one function left to the C library would mix two heaps.
//@ tarn-only
//@ broken-by nothing
CASE(symbols) {
  static const char* const names[] = {
      "malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "posix_memalign", "memalign", "valloc",
      "pvalloc", "malloc_usable_size", "malloc_trim", "mallopt", "mallinfo", "mallinfo2", "malloc_stats", "malloc_info",
      "__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_free", "__libc_cfree", "__libc_memalign",
      "__libc_valloc", "__libc_pvalloc", "__posix_memalign",
      // operator new and new[]: plain, nothrow, aligned, aligned nothrow
      "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
      "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
      // operator delete and delete[]: plain, nothrow, sized, aligned, aligned nothrow, sized aligned
      "_ZdlPv", "_ZdaPv", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t",
      "_ZdaPvSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t",
      "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t"};
  int missing = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    Dl_info info = {0};
    void* symbol = dlsym(RTLD_DEFAULT, names[i]);
    if (symbol && dladdr(symbol, &info) && strstr(info.dli_fname, "libtarn-malloc")) continue;
    dprintf(2, "%s is from %s\n", names[i], symbol ? info.dli_fname : "nowhere");
    ++missing;
  }
  CHECK(missing == 0);
}

void* __libc_malloc(size_t) __attribute__((weak));  // musl has none of these
void* __libc_calloc(size_t, size_t) __attribute__((weak));
void* __libc_realloc(void*, size_t) __attribute__((weak));
void* __libc_memalign(size_t, size_t) __attribute__((weak));
void __libc_free(void*) __attribute__((weak));

// A block of one of glibc's other names is a block of malloc, and the other way round.
//@ broken-by realloc_drops
CASE(other_names) {
  for (size_t size = 1; size < (size_t)3 << 20; size = size * 3 + 1) {
    char* blocks[] = {__libc_malloc(size), __libc_calloc(size, 1), __libc_memalign(64, size),
                      __libc_realloc(NULL, size)};
    for (int i = 0; i < 4; ++i) {
      CHECK(blocks[i] != NULL && malloc_usable_size(blocks[i]) >= size);
      fill(blocks[i], size, (unsigned)i);
      blocks[i] = realloc(blocks[i], size * 2);
      CHECK(blocks[i] != NULL && is_filled(blocks[i], size, (unsigned)i));
      free(blocks[i]);
    }
    char* block = __libc_realloc(malloc(size), size * 2);
    CHECK(block != NULL);
    __libc_free(block);
  }
}

void free_sized(void*, size_t) __attribute__((weak));
void free_aligned_sized(void*, size_t, size_t) __attribute__((weak));

// C23's frees take the size that malloc, calloc, realloc or aligned_alloc was asked for, zero too, and null with any
// size. The memory serves again.
//@ tarn-only
//@ broken-by text
CASE(free_with_sizes) {
  const size_t before = resident_bytes();
  for (int round = 0; round < 40; ++round) {
    for (size_t size = 0; size < (size_t)4 << 20; size = size * 3 + 1) {
      void* const blocks[] = {malloc(size), calloc(size, 1), realloc(malloc(40), size + 1)};
      void* const aligned = aligned_alloc(256, size);
      CHECK(blocks[0] != NULL && blocks[1] != NULL && blocks[2] != NULL && aligned != NULL);
      fill(blocks[0], size, (unsigned)round);
      fill(aligned, size, (unsigned)round);
      free_sized(blocks[0], size);
      free_sized(blocks[1], size);
      free_sized(blocks[2], size + 1);
      free_aligned_sized(aligned, 256, size);
    }
  }
  free_sized(NULL, 1000);
  free_aligned_sized(NULL, 64, 1000);
  CHECK(resident_bytes() < before + ((size_t)60 << 20));
}
