/* Tarn for C: heaps for threads.
 *
 * Every function may be called by any thread; a heap is used by one thread at a
 * time, except that any thread may free its blocks. Functions that return a pointer
 * return NULL on failure and set errno to ENOMEM, or to EINVAL where noted. */
#ifndef TARN_TARN_H
#define TARN_TARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_heap tarn_heap;

/* Zero a variable of this type for the defaults. Sizes are in bytes. */
typedef struct tarn_heap_options {
  const char* name; /* may be NULL; the first 23 bytes are kept */
  size_t initial;   /* mapped and touched at creation */
  size_t increment; /* mapped in one step when more is needed; 0: 4 MiB */
  size_t limit;     /* most memory in use at one time; 0: no limit */
  bool strict;      /* a free by another thread is a fault */
  bool statistics;  /* counts each call; calls then do not take the inline path */
  bool sites;       /* records where each block was allocated and reports what is in use at the end. Slower */
  bool keep;        /* freed memory stays with the heap until it is released, trimmed or destroyed */
} tarn_heap_options;

/* Has the members of tarn::heap_statistics in tarn/statistics.hpp. */
typedef struct tarn_heap_statistics {
  uint64_t allocated_blocks, freed_blocks, allocated_bytes, freed_bytes, remote_frees;
  uint64_t used_bytes, slabs, slab_bytes, large_blocks, large_bytes;
  uint64_t footprint_bytes, peak_footprint_bytes, refills, flushes;
} tarn_heap_statistics;

/* Creates a heap with memory of its own. `options` may be NULL. */
tarn_heap* tarn_heap_create(const tarn_heap_options* options);
/* Frees all its blocks and gives its memory back. NULL is allowed. */
void tarn_heap_destroy(tarn_heap* heap);
/* Frees all its blocks at once; the heap stays usable. */
void tarn_heap_release(tarn_heap* heap);
/* Gives all free memory of the heap back to the system now; returns the number of bytes. */
size_t tarn_heap_trim(tarn_heap* heap);
tarn_heap_statistics tarn_heap_get_statistics(const tarn_heap* heap);

void* tarn_heap_malloc(tarn_heap* heap, size_t bytes);
void* tarn_heap_calloc(tarn_heap* heap, size_t count, size_t each);
void* tarn_heap_realloc(tarn_heap* heap, void* block, size_t bytes);
/* EINVAL: `alignment` is not a power of two. */
void* tarn_heap_aligned_alloc(tarn_heap* heap, size_t alignment, size_t bytes);

/* These allocate from the calling thread's current heap. */
void* tarn_malloc(size_t bytes);
void* tarn_calloc(size_t count, size_t each);
void* tarn_realloc(void* block, size_t bytes);
void* tarn_aligned_alloc(size_t alignment, size_t bytes);

/* Gives back a block of any heap. NULL is allowed. */
void tarn_free(void* block);
/* Returns the number of usable bytes in a block of any heap. */
size_t tarn_usable_size(const void* block);

/* These return the calling thread's current heap; the process-wide heap, which takes a
 * lock; the heap that owns a block, NULL for memory that is not Tarn's. */
tarn_heap* tarn_current(void);
tarn_heap* tarn_global(void);
tarn_heap* tarn_owner_of(const void* block);
/* Makes `heap` the calling thread's current heap and returns the previous one; restore
 * that before `heap` is destroyed. */
tarn_heap* tarn_set_current(tarn_heap* heap);

/* Bump allocation: blocks are not freed singly, but all at once. One thread at a time uses an arena. */
typedef struct tarn_arena tarn_arena;

/* Zero a variable of this type for the defaults. Sizes are in bytes. */
typedef struct tarn_arena_options {
  const char* name;    /* for messages; not copied; may be NULL */
  tarn_heap* upstream; /* allocates the chunks; NULL: the heap that is current when one is needed */
  size_t first_chunk;  /* 0: 4,096 */
  size_t limit;        /* most memory in chunks at one time; 0: no limit */
  size_t keep;         /* most memory in empty chunks that is kept for later; 0: all */
} tarn_arena_options;

/* Has the members of tarn::arena_statistics in tarn/arena.hpp. */
typedef struct tarn_arena_statistics {
  size_t used_bytes, peak_bytes, chunk_bytes, spare_bytes, chunks, upstream_calls;
} tarn_arena_statistics;

/* A position in an arena. Its members are private. */
typedef struct tarn_arena_mark {
  const void* of;
  void* record;
  uint64_t number;
} tarn_arena_mark;

/* `options` may be NULL. */
tarn_arena* tarn_arena_create(const tarn_arena_options* options);
/* Gives all memory back. NULL is allowed. */
void tarn_arena_destroy(tarn_arena* arena);

void* tarn_arena_malloc(tarn_arena* arena, size_t bytes);
/* EINVAL: `alignment` is not a power of two. */
void* tarn_arena_aligned_alloc(tarn_arena* arena, size_t alignment, size_t bytes);
/* Grows or shrinks a block, in place when it is the newest. NULL is allowed for `block`. */
void* tarn_arena_realloc(tarn_arena* arena, void* block, size_t old_bytes, size_t new_bytes);

/* Records the position in 48 bytes of the arena; member `number` is 0 when there is no memory for that. */
tarn_arena_mark tarn_arena_set_mark(tarn_arena* arena);
/* Frees all blocks after the mark, and ends it and all newer marks. Rewinding to an ended mark is a fault. */
void tarn_arena_rewind(tarn_arena* arena, tarn_arena_mark to);
/* Both free everything. A reset keeps the chunks for later use; a release gives them back, too. */
void tarn_arena_reset(tarn_arena* arena);
void tarn_arena_release(tarn_arena* arena);
tarn_arena_statistics tarn_arena_get_statistics(const tarn_arena* arena);

/* Blocks of one size. A pool is used by one thread at a time, a shared pool by any number of threads. */
typedef struct tarn_pool tarn_pool;
typedef struct tarn_shared_pool tarn_shared_pool;

/* Zero a variable of this type for the defaults. Sizes are numbers of blocks. */
typedef struct tarn_pool_options {
  const char* name;    /* for messages; not copied; may be NULL */
  tarn_heap* upstream; /* allocates the chunks; NULL: the heap that is current when one is needed, or for a shared pool
                          the process-wide heap. The heap of a shared pool must serve any thread */
  size_t first_chunk;  /* 0: as many as fit in 4 KiB, at least 8 */
  size_t step;         /* blocks in each later chunk; 0: as many as the pool has by then, up to 1 MiB */
  size_t limit;        /* most blocks at one time; 0: no limit */
  bool guard;          /* fences, sites, quarantine, and a report of what is in use at the end: docs/guide/guard.md */
} tarn_pool_options;

/* Has the members of tarn::pool_statistics in tarn/fixed_pool.hpp. */
typedef struct tarn_pool_statistics {
  size_t in_use, peak_in_use, capacity, chunks, chunk_bytes, upstream_calls;
} tarn_pool_statistics;

/* Creates a pool of blocks of `bytes` at multiples of `alignment`; 0: 16. EINVAL: `alignment` is not a power of two.
 * `options` may be NULL. */
tarn_pool* tarn_pool_create(size_t bytes, size_t alignment, const tarn_pool_options* options);
/* Gives all memory back, including blocks in use. NULL is allowed. */
void tarn_pool_destroy(tarn_pool* pool);
void* tarn_pool_malloc(tarn_pool* pool);
/* NULL is allowed. */
void tarn_pool_free(tarn_pool* pool, void* block);
/* Takes memory for `blocks` in total, used or not. Returns false with ENOMEM on failure. */
bool tarn_pool_reserve(tarn_pool* pool, size_t blocks);
/* Both free all blocks. A clear keeps the memory for later use; a release gives it back, too. */
void tarn_pool_clear(tarn_pool* pool);
void tarn_pool_release(tarn_pool* pool);
tarn_pool_statistics tarn_pool_get_statistics(const tarn_pool* pool);

tarn_shared_pool* tarn_shared_pool_create(size_t bytes, size_t alignment, const tarn_pool_options* options);
void tarn_shared_pool_destroy(tarn_shared_pool* pool);
void* tarn_shared_pool_malloc(tarn_shared_pool* pool);
void tarn_shared_pool_free(tarn_shared_pool* pool, void* block);
bool tarn_shared_pool_reserve(tarn_shared_pool* pool, size_t blocks);
/* Blocks in a thread's own cache count as in use. */
tarn_pool_statistics tarn_shared_pool_get_statistics(tarn_shared_pool* pool);

#ifdef __cplusplus
}
#endif

#endif
