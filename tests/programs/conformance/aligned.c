// Blocks with an alignment.
#include <errno.h>

#include "../cases.h"

// aligned_alloc: alignments 8 to 2 MiB with many sizes, also sizes that are no multiple of them.
//@ broken-by memalign_weak memalign_short
CASE(aligned_alloc) {
  for (size_t alignment = 8; alignment <= (size_t)2 << 20; alignment *= 2) {
    void* blocks[40];
    size_t sizes[40];
    int count = 0;
    for (size_t size = 1; size < (size_t)3 << 20; size = size * 3 / 2 + 5) {
      unsigned char* p = aligned_alloc(alignment, size);
      CHECK(p != NULL && is_aligned(p, alignment));
      CHECK(malloc_usable_size(p) >= size);
      memset(p, count, size);
      blocks[count] = p;
      sizes[count++] = size;
    }
    for (int i = 0; i < count; ++i) {
      unsigned char* p = blocks[i];
      CHECK(p[0] == i && memcmp(p, p + 1, sizes[i] - 1) == 0);
      free(p);
    }
  }
}

// A block with an alignment can be reallocated and keeps its contents.
//@ broken-by realloc_drops realloc_moves_wrong memalign_short
CASE(aligned_realloc) {
  for (size_t alignment = 32; alignment <= (size_t)2 << 20; alignment *= 4) {
    for (size_t size = 10; size <= 200000; size *= 4) {
      char* p = aligned_alloc(alignment, size);
      CHECK(p != NULL);
      fill(p, size, 8);
      p = realloc(p, size * 3);
      CHECK(p != NULL && is_filled(p, size, 8));
      fill(p, size * 3, 9);
      p = realloc(p, size / 2);
      CHECK(p != NULL && is_filled(p, size / 2, 9));
      free(p);
    }
  }
}

// Aligned and plain blocks of the same sizes freed and asked for in turns never overlap.
//@ broken-by malloc_overlap memalign_weak memalign_short
CASE(aligned_reuse) {
  enum { count = 500 };
  static unsigned char* p[count];
  static size_t size[count];
  unsigned state = 11;
  for (int step = 0; step < 60000; ++step) {
    unsigned i = next_random(&state) % count;
    CHECK(p[i] == NULL || (p[i][0] == (unsigned char)i && p[i][size[i] - 1] == (unsigned char)i));
    free(p[i]);
    size_t alignment = (size_t)16 << (next_random(&state) % 9);
    size[i] = next_random(&state) % 5000 + 1;
    p[i] = step % 3 ? aligned_alloc(alignment, size[i]) : malloc(size[i]);
    CHECK(p[i] != NULL && is_aligned(p[i], step % 3 ? alignment : 8));
    memset(p[i], (int)i, size[i]);
  }
  for (int i = 0; i < count; ++i) free(p[i]);
}

// Alignments far above the page: 4 MiB to 1 GiB, and ones that cannot be met give ENOMEM.
//@ broken-by memalign_weak no_errno
//@ limit as=16G
CASE(huge_alignment) {
  for (size_t alignment = (size_t)4 << 20; alignment <= (size_t)1 << 30; alignment *= 2) {
    char* blocks[3];
    for (int i = 0; i < 3; ++i) {
      blocks[i] = aligned_alloc(alignment, 100 + (size_t)i * 5000000);
      CHECK(blocks[i] != NULL && is_aligned(blocks[i], alignment));
      blocks[i][0] = blocks[i][99 + (size_t)i * 5000000] = 7;
    }
    for (int i = 0; i < 3; ++i) free(blocks[i]);
  }
  for (int bits = 40; bits < 64; ++bits) {
    errno = 0;
    CHECK(aligned_alloc((size_t)1 << bits, 16) == NULL && errno == ENOMEM);
  }
}

// memalign: powers of two as aligned_alloc; any other alignment is refused or rounded up.
//@ broken-by memalign_weak memalign_overflow no_errno
CASE(memalign) {
  volatile size_t absurd = (size_t)PTRDIFF_MAX + 1;
  for (size_t alignment = 1; alignment <= (size_t)2 << 20; alignment *= 2) {
    for (size_t size = 1; size < 100000; size = size * 7 + 1) {
      void* p = memalign(alignment, size);
      CHECK(p != NULL && is_aligned(p, alignment) && is_aligned(p, 8));
      fill(p, size, 2);
      free(p);
    }
  }
  errno = 0;
  void* odd = memalign(24, 100);
  CHECK(odd == NULL ? errno == EINVAL : is_aligned(odd, 32));
  free(odd);
  errno = 0;
  CHECK(memalign(64, absurd) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(memalign(64, SIZE_MAX - 32) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(memalign(absurd + 1, 8) == NULL && errno == EINVAL);
}

// posix_memalign: every alignment from 8 to 2 MiB, zero returned, errno untouched on success.
//@ broken-by memalign_weak memalign_short clears_errno
CASE(posix_memalign) {
  errno = 4711;
  for (size_t alignment = sizeof(void*); alignment <= (size_t)2 << 20; alignment *= 2) {
    void* before = NULL;
    for (size_t size = 0; size < (size_t)3 << 20; size = size * 2 + 7) {
      void* p = NULL;
      CHECK(posix_memalign(&p, alignment, size) == 0);
      CHECK(p != NULL && is_aligned(p, alignment) && malloc_usable_size(p) >= size);
      fill(p, size, 1);
      free(before);
      before = p;
    }
    free(before);
  }
  CHECK(errno == 4711);
}

static void refused(size_t alignment, size_t size, int error) {
  void* p = (void*)0x77;
  CHECK(posix_memalign(&p, alignment, size) == error);
  CHECK(p == (void*)0x77);
}

// posix_memalign answers EINVAL or ENOMEM in its result and leaves the pointer alone.
//@ broken-by memalign_lenient
CASE(posix_memalign_invalid) {
  volatile size_t absurd = (size_t)PTRDIFF_MAX + 1;
  refused(0, 8, EINVAL);
  refused(1, 8, EINVAL);
  refused(4, 8, EINVAL);
  refused(3, 8, EINVAL);
  refused(24, 8, EINVAL);
  refused(sizeof(void*) * 3, 8, EINVAL);
  refused(SIZE_MAX, 8, EINVAL);
  refused(absurd + 8, 8, EINVAL);
  refused(16, absurd, ENOMEM);
  refused(4096, SIZE_MAX, ENOMEM);
  refused(4096, SIZE_MAX - 100, ENOMEM);
  refused((size_t)1 << 62, 16, ENOMEM);
  refused((size_t)1 << 62, absurd, ENOMEM);
}

// aligned_alloc refuses alignments that are no power of two, as C17 demands, and glibc since 2.38. An older glibc
// rounds them up.
//@ tarn-only
//@ broken-by nothing
CASE(aligned_alloc_invalid) {
  static const size_t others[] = {0, 3, 24, 48, 4097, SIZE_MAX};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    volatile size_t alignment = others[i];
    errno = 0;
    CHECK(aligned_alloc(alignment, 10) == NULL && errno == EINVAL);
  }
}

// valloc is aligned to a page; pvalloc also rounds the size up to whole pages.
//@ broken-by memalign_weak pvalloc_short no_errno
CASE(valloc) {
  volatile size_t absurd = (size_t)PTRDIFF_MAX + 1;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t size = 1; size < 200000; size = size * 3 + 1) {
    void* v = valloc(size);
    CHECK(v != NULL && is_aligned(v, page) && malloc_usable_size(v) >= size);
    void* w = pvalloc(size);
    CHECK(w != NULL && is_aligned(w, page));
    size_t whole = (size + page - 1) / page * page;
    CHECK(malloc_usable_size(w) >= whole);
    fill(w, whole, 4);
    free(v);
    free(w);
  }
  errno = 0;
  CHECK(valloc(absurd) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(pvalloc(SIZE_MAX - 100) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(pvalloc(absurd) == NULL && errno == ENOMEM);
}
