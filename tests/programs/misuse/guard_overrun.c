// Writes outside of guarded blocks.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ last tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
#include <dlfcn.h>

#include "../cases.h"
#include "../guarded.h"

// One byte behind an aligned block that is smaller than its alignment.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 100 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 100
CASE(guard_overrun_aligned) {
  char* p = aligned_alloc(4096, 100);
  note_guarded(p);
  ((char*)hidden(p))[100] = 0;
  free(p);
}

// The end of a string one byte behind the block.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
CASE(guard_overrun_by_one) {
  char* p = malloc(24);
  note_guarded(p);
  strcpy(hidden(p), "123456789012345678901234");
  free(p);
}

// The program writes a byte into an empty block.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 0 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 0
CASE(guard_overrun_empty) {
  char* p = malloc(0);
  note_guarded(p);
  ((char*)hidden(p))[0] = 0;
  free(p);
}

// An overrun that wipes out the description of the next block, which is freed first: the culprit is named.
//@ stderr tarn: free({next}): overrun: 8 or more bytes written past the end of the block of 24 bytes at {p}
//@ more allocated at {program}+0xADDR by thread {thread}; the first is byte 24
CASE(guard_overrun_into_next) {
  enum { count = 100 };
  static char* p[count];
  char *left = NULL, *right = NULL;
  for (int i = 0; i < count; ++i) {
    p[i] = malloc(24);
    for (int j = 0; j < i; ++j) {
      if (p[i] - p[j] > 0 && p[i] - p[j] < 150) left = p[j], right = p[i];
      if (p[j] - p[i] > 0 && p[j] - p[i] < 150) left = p[i], right = p[j];
    }
  }
  CHECK(left != NULL);
  note_guarded(left);
  note_pointer("next", right);
  memset(hidden(left), 'x', (size_t)(right - left));
  free(right);
}

// One byte behind a large block.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 1048576 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 1048576
CASE(guard_overrun_large) {
  char* p = malloc(1 << 20);
  note_guarded(p);
  ((char*)hidden(p))[1 << 20] = 0;
  free(p);
}

// The program writes more behind the block than the guard checks.
//@ stderr tarn: free({p}): overrun: 8 or more bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
CASE(guard_overrun_many) {
  char* p = calloc(3, 8);
  note_guarded(p);
  memset(hidden(p), 0, 24 + 8);
  free(p);
}

// An overrun that realloc meets.
//@ stderr tarn: realloc({p}): overrun: 1 bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
CASE(guard_overrun_seen_by_realloc) {
  char* p = malloc(24);
  note_guarded(p);
  ((char*)hidden(p))[24] = 0;
  p = realloc(p, 100);
}

// A byte behind the block, with untouched ones between.
//@ stderr tarn: free({p}): overrun: 5 bytes written past the end of the block of 26 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 30
CASE(guard_overrun_with_gap) {
  char* p = malloc(26);
  note_guarded(p);
  ((char*)hidden(p))[30] = 0;
  free(p);
}

// The byte before the block.
//@ stderr tarn: free({p}): underrun: 1 or more bytes written before the start of the block of 24 bytes
//@ more allocated at {program}+0xADDR by thread {thread}
//@ last tarn: find the code that writes before the start of the block: an index is negative, or a pointer
//@ more moved back too far
CASE(guard_underrun) {
  char* p = malloc(24);
  note_guarded(p);
  ((char*)hidden(p))[-1] = 0;
  free(p);
}

// Some bytes before an aligned block.
//@ stderr tarn: free({p}): underrun: 20 or more bytes written before the start of the block of 24 bytes
//@ more allocated at {program}+0xADDR by thread {thread}
//@ last tarn: find the code that writes before the start of the block: an index is negative, or a pointer
//@ more moved back too far
CASE(guard_underrun_aligned) {
  char* p = aligned_alloc(256, 24);
  note_guarded(p);
  ((char*)hidden(p))[-20] = 0;
  free(p);
}

// The description of a block is wiped out.
//@ stderr tarn: free({p}): not a block, or more than 8 bytes before it were overwritten
//@ last tarn: free only what an allocation returned; if this was a block, find the code that writes before
//@ more its start
CASE(guard_underrun_far) {
  char* p = malloc(24);
  note_guarded(p);
  memset((char*)hidden(p) - 40, 0, 40);
  free(p);
}

// The C library allocated the block: the site is in the library.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 5 bytes allocated at
//@ more {libc}+0xADDR by thread {thread}; the first is byte 5
CASE(guard_in_library) {
  Dl_info libc;
  CHECK(dladdr(dlsym(RTLD_DEFAULT, "strdup"), &libc) != 0);
  note_text("libc", libc.dli_fname);
  char* p = strdup("four");
  note_guarded(p);
  ((char*)hidden(p))[5] = 0;
  free(p);
}

// The usable size is the requested size, so nobody is invited to overrun.
//@ exit 0
CASE(guard_usable_size) {
  for (size_t size = 0; size < 300000; size = size * 9 / 8 + 1) {
    char* p = malloc(size);
    CHECK(malloc_usable_size(p) == size);
    memset(p, 0, size);
    p = realloc(p, size + 3);
    CHECK(malloc_usable_size(p) == size + 3);
    free(p);
  }
  CHECK(malloc_usable_size(NULL) == 0);
}

// Where both options are given, blocks are guarded: the report tells more.
//@ env TARN_HARDEN=1
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
CASE(guard_beside_harden) {
  char* p = malloc(24);
  note_guarded(p);
  ((char*)hidden(p))[24] = 0;
  free(p);
}
