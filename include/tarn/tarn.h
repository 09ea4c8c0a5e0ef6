/* Tarn for C: heaps for threads.
 *
 * Threads: any thread may call each function; a heap, an arena or a pool is used by one
 * thread at a time, except that any thread may free the blocks of a heap, read its
 * statistics, and use a shared pool. Errors: functions that return a pointer return NULL on failure and set errno to
 * ENOMEM, or to EINVAL where noted. Freeing memory that is not Tarn's ends the program
 * with one line that names the mistake. Cost: functions that allocate or free one block
 * take a few nanoseconds and mostly no lock; those that create, destroy, release or trim
 * may make system calls. */
#ifndef TARN_TARN_H
#define TARN_TARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap. Its functions are those of tarn::heap. */
typedef struct tarn_heap tarn_heap;

/* Options of a heap. Zero a variable of this type for the defaults. Sizes are in bytes. */
typedef struct tarn_heap_options {
  const char* name;          /* may be NULL; the first 23 bytes are kept */
  size_t initial;            /* mapped and touched at creation; at most `limit` */
  size_t increment;          /* mapped in one step when more is needed; 0: 4 MiB */
  size_t limit;              /* most bytes in slabs and large blocks at one time; 0: no limit */
  bool forbids_remote_frees; /* a free by another thread is a fault */
  bool counts_calls;         /* counts each call; calls then do not take the inline path */
  bool records_sites;        /* records where each block was allocated and reports what is in use at the end. Slower */
  bool keeps_memory;         /* freed memory stays with the heap until it is released, trimmed or destroyed */
} tarn_heap_options;

/* Counters of a heap since its creation, as tarn::heap_statistics in tarn/statistics.hpp. Bytes are bytes of size
 * classes. "Now" marks what can become less. */
typedef struct tarn_heap_statistics {
  bool counts_calls;             /* as in the options; without it the next four are 0 */
  uint64_t allocated_blocks;     /* blocks that were allocated; 0 without counts_calls */
  uint64_t freed_blocks;         /* blocks that were freed; 0 without counts_calls */
  uint64_t allocated_bytes;      /* bytes of the allocated blocks; 0 without counts_calls */
  uint64_t freed_bytes;          /* bytes of the freed blocks; 0 without counts_calls */
  uint64_t remote_frees;         /* blocks that other threads freed; counted by all heaps */
  uint64_t used_bytes;           /* now: in blocks of the program, and in free ones of the front magazines */
  uint64_t slabs;                /* now: number of slabs */
  uint64_t slab_bytes;           /* now: bytes of the slabs */
  uint64_t large_blocks;         /* now: blocks with pages of their own */
  uint64_t large_bytes;          /* now: bytes of the large blocks */
  uint64_t footprint_bytes;      /* now: in slabs and large blocks, without what release keeps */
  uint64_t peak_footprint_bytes; /* most of footprint_bytes so far */
  uint64_t refills;              /* number of magazines filled from the slabs */
  uint64_t flushes;              /* number of magazines emptied into the slabs */
} tarn_heap_statistics;

/* Creates a heap with memory of its own. `options` may be NULL. */
tarn_heap* tarn_heap_create(const tarn_heap_options* options);
/* Frees all its blocks and gives its memory back. NULL is allowed. The heap must be no thread's current heap. */
void tarn_heap_destroy(tarn_heap* heap);
/* Frees all its blocks at once, also those that other threads hold; the heap stays usable. It does nothing for a heap
 * that tarn_heap_create did not make. */
void tarn_heap_release(tarn_heap* heap);
/* Gives all free memory of the heap back to the system now; returns the number of bytes. */
size_t tarn_heap_trim(tarn_heap* heap);
/* Returns a copy of the counters. Any thread may call it at any time. */
tarn_heap_statistics tarn_heap_get_statistics(const tarn_heap* heap);

/* Allocates `bytes` bytes at a multiple of 16. */
void* tarn_heap_malloc(tarn_heap* heap, size_t bytes);
/* Allocates `count` objects of `bytes` bytes, all zero. */
void* tarn_heap_calloc(tarn_heap* heap, size_t count, size_t bytes);
/* Grows or shrinks a block of any heap to `bytes` bytes and returns it, at a new address if it had to be copied.
 * Allocates when `block` is NULL; a size of 0 frees nothing, and gives a block. On failure the old block stays. */
void* tarn_heap_realloc(tarn_heap* heap, void* block, size_t bytes);
/* Allocates `bytes` bytes at a multiple of `alignment` bytes. EINVAL: `alignment` is not a power of two. */
void* tarn_heap_aligned_alloc(tarn_heap* heap, size_t alignment, size_t bytes);

/* Allocates `bytes` bytes from the calling thread's current heap, as the functions below do. */
void* tarn_malloc(size_t bytes);
/* Allocates `count` objects of `bytes` bytes, all zero. */
void* tarn_calloc(size_t count, size_t bytes);
/* Grows or shrinks a block of any heap to `bytes` bytes, as tarn_heap_realloc does. */
void* tarn_realloc(void* block, size_t bytes);
/* Allocates `bytes` bytes at a multiple of `alignment` bytes. EINVAL: `alignment` is not a power of two. */
void* tarn_aligned_alloc(size_t alignment, size_t bytes);

/* Frees a block of any heap. Any thread may call it. NULL is allowed. */
void tarn_free(void* block);
/* Returns the number of usable bytes in a block of any heap; 0 for NULL. */
size_t tarn_usable_size(const void* block);

/* Returns the calling thread's current heap. */
tarn_heap* tarn_current_heap(void);
/* Returns the process-wide heap. Any number of threads may use it at once; each call takes a lock. */
tarn_heap* tarn_process_heap(void);
/* Returns the heap that owns a block; NULL for memory that is not Tarn's. */
tarn_heap* tarn_owner_of(const void* block);
/* Makes `heap` the calling thread's current heap and returns the previous one; restore that before `heap` is
 * destroyed. Returns NULL without memory, and then changes nothing. */
tarn_heap* tarn_set_current_heap(tarn_heap* heap);

/* Bump allocation: blocks are not freed singly, but all at once. One thread at a time uses an arena. */
typedef struct tarn_arena tarn_arena;

/* Options of an arena. Zero a variable of this type for the defaults. */
typedef struct tarn_arena_options {
  const char* name;    /* for messages; not copied; may be NULL */
  tarn_heap* upstream; /* allocates the chunks; NULL: the heap that is current when one is needed */
  size_t first_chunk;  /* bytes of the first chunk; 0: 4,096 */
  size_t limit;        /* most bytes in chunks at one time; 0: no limit */
  size_t spare_limit;  /* most bytes in empty chunks that are kept for later; 0: all */
} tarn_arena_options;

/* Counters of an arena, as tarn::arena_statistics in tarn/arena.hpp. */
typedef struct tarn_arena_statistics {
  size_t used_bytes;     /* in blocks, with rounding to 16 and alignment */
  size_t peak_bytes;     /* the highest used_bytes so far */
  size_t chunk_bytes;    /* taken from the upstream, in use or kept */
  size_t spare_bytes;    /* the part of chunk_bytes that is in empty chunks */
  size_t chunks;         /* number of chunks taken from the upstream */
  size_t upstream_calls; /* all chunks ever taken; constant in a steady state */
} tarn_arena_statistics;

/* A position in an arena. Its members are private. */
typedef struct tarn_arena_mark {
  const void* arena; /* the arena */
  void* record;      /* the position */
  uint64_t number;   /* number of the mark; 0: there was no memory for it */
} tarn_arena_mark;

/* Creates an arena. `options` may be NULL. */
tarn_arena* tarn_arena_create(const tarn_arena_options* options);
/* Gives all memory back. NULL is allowed. */
void tarn_arena_destroy(tarn_arena* arena);

/* Allocates `bytes` bytes at a multiple of 16. */
void* tarn_arena_malloc(tarn_arena* arena, size_t bytes);
/* Allocates `bytes` bytes at a multiple of `alignment` bytes. EINVAL: `alignment` is not a power of two. */
void* tarn_arena_aligned_alloc(tarn_arena* arena, size_t alignment, size_t bytes);
/* Grows or shrinks a block from `old_bytes` to `new_bytes` bytes: in place when it is the newest block and there is
 * room, else by a copy. Allocates when `block` is NULL. */
void* tarn_arena_realloc(tarn_arena* arena, void* block, size_t old_bytes, size_t new_bytes);

/* Records the position in 48 bytes of the arena and returns it. Without memory for that, errno is ENOMEM and member
 * `number` is 0. */
tarn_arena_mark tarn_arena_set_mark(tarn_arena* arena);
/* Frees all blocks after the mark, and ends it and all newer marks. Rewinding to an ended mark is a fault. */
void tarn_arena_rewind(tarn_arena* arena, tarn_arena_mark mark);
/* Frees everything, and keeps the chunks for later use. */
void tarn_arena_reset(tarn_arena* arena);
/* Frees everything, and gives the chunks back. */
void tarn_arena_release(tarn_arena* arena);
/* Returns a copy of the counters. */
tarn_arena_statistics tarn_arena_get_statistics(const tarn_arena* arena);

/* Blocks of one size, for one thread at a time. */
typedef struct tarn_pool tarn_pool;
/* Blocks of one size, for any number of threads. */
typedef struct tarn_shared_pool tarn_shared_pool;

/* Options of a pool. Zero a variable of this type for the defaults. */
typedef struct tarn_pool_options {
  const char* name;    /* for messages; not copied; may be NULL */
  tarn_heap* upstream; /* allocates the chunks; NULL: the heap that is current when one is needed, or for a shared pool
                          the process-wide heap. The heap of a shared pool must serve any thread */
  size_t first_chunk_blocks; /* blocks in the first chunk; 0: as many as fit in 4 KiB, at least 8 */
  size_t increment_blocks;   /* blocks in each later chunk; 0: as many as the pool has by then, in at most 1 MiB */
  size_t limit_blocks;       /* most blocks at one time; 0: no limit */
  bool is_guarded; /* fences, sites, quarantine, and a report of what is in use at the end: docs/guide/guard.md */
} tarn_pool_options;

/* Counters of a pool, as tarn::pool_statistics in tarn/fixed_pool.hpp. */
typedef struct tarn_pool_statistics {
  size_t in_use;         /* blocks that the program holds */
  size_t peak_in_use;    /* the most blocks in use so far; may be up to 255 (a magazine) too low */
  size_t capacity;       /* blocks in all chunks */
  size_t chunks;         /* number of chunks */
  size_t chunk_bytes;    /* bytes in chunks, and in the magazine */
  size_t upstream_calls; /* all requests to the upstream; constant in a steady state */
} tarn_pool_statistics;

/* Creates a pool of blocks of `bytes` bytes, each at a multiple of `alignment` bytes; an `alignment` of 0 means 16.
 * `options` may be NULL. EINVAL: `alignment` is not a power of two. */
tarn_pool* tarn_pool_create(size_t bytes, size_t alignment, const tarn_pool_options* options);
/* Gives all memory back, including blocks in use. NULL is allowed. */
void tarn_pool_destroy(tarn_pool* pool);
/* Allocates a block. */
void* tarn_pool_malloc(tarn_pool* pool);
/* Frees a block of this pool. NULL is allowed. */
void tarn_pool_free(tarn_pool* pool, void* block);
/* Takes memory for `blocks` in total, used or not. Returns false with ENOMEM on failure. */
bool tarn_pool_reserve(tarn_pool* pool, size_t blocks);
/* Frees all blocks, and keeps the memory for later use. */
void tarn_pool_clear(tarn_pool* pool);
/* Frees all blocks, and gives the memory back. */
void tarn_pool_release(tarn_pool* pool);
/* Returns a copy of the counters. */
tarn_pool_statistics tarn_pool_get_statistics(const tarn_pool* pool);

/* Creates a shared pool of blocks of `bytes` bytes at multiples of `alignment` bytes, as
 * tarn_pool_create does. */
tarn_shared_pool* tarn_shared_pool_create(size_t bytes, size_t alignment, const tarn_pool_options* options);
/* Gives all memory back, including blocks in use. No thread may use the pool any more. NULL is allowed. */
void tarn_shared_pool_destroy(tarn_shared_pool* pool);
/* Allocates a block. Any thread may call it at any time. */
void* tarn_shared_pool_malloc(tarn_shared_pool* pool);
/* Frees a block of this pool. Any thread may call it at any time. NULL is allowed. */
void tarn_shared_pool_free(tarn_shared_pool* pool, void* block);
/* Takes memory for `blocks` in total, used or not. Returns false with ENOMEM on failure. */
bool tarn_shared_pool_reserve(tarn_shared_pool* pool, size_t blocks);
/* Returns a copy of the counters, under the pool's lock. Blocks in a thread's own cache count as in use. */
tarn_pool_statistics tarn_shared_pool_get_statistics(tarn_shared_pool* pool);

#ifdef __cplusplus
}
#endif

#endif
