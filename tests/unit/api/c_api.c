/* tarn.h from C. */
#include "c_api.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <tarn/tarn.h>

#include "support/scene.h"

static int is_zero(const char* block, size_t bytes) {
  for (size_t index = 0; index < bytes; ++index) {
    if (block[index] != 0) return 0;
  }
  return 1;
}

const char* scene_blocks(void) {
  static const size_t sizes[] = {0, 1, 16, 17, 100, 5000, 65536, 262144, 262145, 1000000, 50000000};
  void* blocks[sizeof sizes / sizeof *sizes];
  for (size_t index = 0; index < sizeof sizes / sizeof *sizes; ++index) {
    blocks[index] = tarn_malloc(sizes[index]);
    EXPECT(blocks[index] != NULL);
    EXPECT((uintptr_t)blocks[index] % 16 == 0);
    EXPECT(tarn_usable_size(blocks[index]) >= sizes[index]);
    EXPECT(tarn_owner_of(blocks[index]) == tarn_current_heap());
    memset(blocks[index], 1, tarn_usable_size(blocks[index]));
  }
  errno = 77;
  for (size_t index = 0; index < sizeof sizes / sizeof *sizes; ++index) tarn_free(blocks[index]);
  tarn_free(NULL);
  EXPECT(errno == 77);
  EXPECT(tarn_usable_size(NULL) == 0);
  EXPECT(tarn_owner_of(sizes) == NULL);
  return NULL;
}

const char* scene_zeroed(void) {
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes = 1; bytes < 3000000; bytes += bytes / 3 + 1) {
      char* const block = tarn_calloc(bytes, 1);
      EXPECT(block != NULL && is_zero(block, bytes));
      memset(block, 0xff, bytes);
      tarn_free(block);
    }
  }
  char* const empty = tarn_calloc(0, 10);
  EXPECT(empty != NULL);
  tarn_free(empty);
  char* const table = tarn_calloc(100, 30);
  EXPECT(table != NULL && tarn_usable_size(table) >= 3000 && is_zero(table, 3000));
  tarn_free(table);
  return NULL;
}

const char* scene_reallocation(void) {
  char* block = tarn_realloc(NULL, 1);
  EXPECT(block != NULL);
  *block = 1;
  size_t filled = 1;
  for (size_t bytes = 2; bytes < 20000000; bytes += bytes / 2) {
    block = tarn_realloc(block, bytes);
    EXPECT(block != NULL && tarn_usable_size(block) >= bytes);
    for (size_t index = 0; index < filled; index += index < 5000 ? 1 : 4096) EXPECT(block[index] == 1);
    memset(block + filled, 1, bytes - filled);
    filled = bytes;
  }
  for (size_t bytes = filled; bytes > 1; bytes -= bytes / 3 + 1) {
    block = tarn_realloc(block, bytes);
    EXPECT(block != NULL && tarn_usable_size(block) >= bytes);
    for (size_t index = 0; index < bytes; index += index < 5000 ? 1 : 4096) EXPECT(block[index] == 1);
  }
  tarn_free(block);
  return NULL;
}

const char* scene_alignment(void) {
  for (size_t alignment = 1; alignment <= 8 << 20; alignment *= 2) {
    for (size_t bytes = 1; bytes <= 1000000; bytes *= 10) {
      void* const block = tarn_aligned_alloc(alignment, bytes);
      EXPECT(block != NULL && (uintptr_t)block % alignment == 0);
      memset(block, 1, bytes);
      tarn_free(block);
    }
  }
  return NULL;
}

const char* scene_errors(void) {
  static volatile size_t absurd = SIZE_MAX;
  errno = 0;
  EXPECT(tarn_malloc(absurd) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_malloc(absurd / 2 + 1) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_malloc((size_t)1 << 60) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_calloc(absurd / 2, 3) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_calloc((size_t)1 << 32, (size_t)1 << 32) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_aligned_alloc(48, 100) == NULL && errno == EINVAL);
  errno = 0;
  EXPECT(tarn_aligned_alloc(0, 100) == NULL && errno == EINVAL);
  errno = 0;
  EXPECT(tarn_aligned_alloc(64, absurd) == NULL && errno == ENOMEM);
  char* const block = tarn_malloc(100);
  memset(block, 5, 100);
  errno = 0;
  EXPECT(tarn_realloc(block, absurd) == NULL && errno == ENOMEM);
  EXPECT(block[0] == 5 && block[99] == 5);
  errno = 0;
  EXPECT(tarn_realloc(NULL, absurd) == NULL && errno == ENOMEM);
  tarn_free(block);
  return NULL;
}

const char* scene_heaps(void) {
  tarn_heap_options options = {.name = "from C", .initial = 1 << 20};
  tarn_heap* const heap = tarn_heap_create(&options);
  tarn_heap* const second_heap = tarn_heap_create(NULL);
  EXPECT(heap != NULL && second_heap != NULL && heap != second_heap);
  char* first = tarn_heap_malloc(heap, 100);
  char* const second = tarn_heap_calloc(heap, 10, 1000);
  char* const third = tarn_heap_aligned_alloc(heap, 4096, 100);
  EXPECT(first != NULL && second != NULL && third != NULL);
  EXPECT(is_zero(second, 10000) && (uintptr_t)third % 4096 == 0);
  EXPECT(tarn_owner_of(first) == heap && tarn_owner_of(second) == heap && tarn_owner_of(third) == heap);
  memset(first, 3, 100);
  first = tarn_heap_realloc(heap, first, 100000);
  EXPECT(first != NULL && first[0] == 3 && first[99] == 3 && tarn_owner_of(first) == heap);
  EXPECT(tarn_current_heap() != heap);
  tarn_free(first);
  tarn_free(second);
  for (int round = 0; round < 1000; ++round) EXPECT(tarn_heap_malloc(heap, 1000) != NULL);
  tarn_heap_release(heap);
  EXPECT(tarn_owner_of(third) == NULL);
  tarn_free(tarn_heap_malloc(heap, 1000000));
  EXPECT(tarn_heap_trim(heap) >= 1000000);
  EXPECT(tarn_heap_trim(heap) == 0);
  EXPECT(tarn_heap_malloc(heap, 1000) != NULL);
  tarn_heap_destroy(heap);
  tarn_heap_destroy(second_heap);
  tarn_heap_destroy(NULL);
  return NULL;
}

const char* scene_limit(void) {
  tarn_heap_options options = {.limit = 1 << 20, .keeps_memory = true};
  tarn_heap* const heap = tarn_heap_create(&options);
  EXPECT(heap != NULL);
  size_t had = 0;
  errno = 0;
  while (tarn_heap_malloc(heap, 10000) != NULL) had += 10000;
  EXPECT(errno == ENOMEM && had > 700000 && had <= 1 << 20);
  errno = 0;
  EXPECT(tarn_heap_calloc(heap, 1000, 1000) == NULL && errno == ENOMEM);
  options.limit = 0;  // which bounds `initial`, too
  options.initial = (size_t)1 << 60;
  errno = 0;
  EXPECT(tarn_heap_create(&options) == NULL && errno == ENOMEM);
  tarn_heap_destroy(heap);
  return NULL;
}

const char* scene_current(void) {
  tarn_heap* const own_heap = tarn_current_heap();
  EXPECT(own_heap != NULL && tarn_process_heap() != NULL && tarn_process_heap() != own_heap);
  tarn_heap* const heap = tarn_heap_create(NULL);
  EXPECT(tarn_set_current_heap(heap) == own_heap);
  EXPECT(tarn_current_heap() == heap);
  void* const block = tarn_malloc(100);
  void* const zeroed = tarn_calloc(3, 1000);
  EXPECT(tarn_owner_of(block) == heap && tarn_owner_of(zeroed) == heap);
  EXPECT(tarn_owner_of(tarn_realloc(NULL, 50)) == heap);
  EXPECT(tarn_owner_of(tarn_aligned_alloc(256, 50)) == heap);
  EXPECT(tarn_set_current_heap(own_heap) == heap);
  EXPECT(tarn_current_heap() == own_heap);
  tarn_free(block);
  tarn_heap_destroy(heap);
  void* const shared = tarn_heap_malloc(tarn_process_heap(), 100);
  EXPECT(tarn_owner_of(shared) == tarn_process_heap());
  tarn_free(shared);
  return NULL;
}

const char* scene_statistics(void) {
  tarn_heap_options options = {.counts_calls = true};
  tarn_heap* const heap = tarn_heap_create(&options);
  void* const block = tarn_heap_malloc(heap, 100);
  EXPECT(tarn_heap_malloc(heap, 1 << 20) != NULL);
  tarn_free(tarn_heap_malloc(heap, 300));
  const tarn_heap_statistics now = tarn_heap_get_statistics(heap);
  EXPECT(now.counts_calls && now.allocated_blocks == 3 && now.allocated_bytes == 112 + 320 + (1 << 20));
  EXPECT(now.large_blocks == 1 && now.large_bytes == 1 << 20);
  EXPECT(now.slabs == 2 && now.slab_bytes == 2 << 16);
  EXPECT(now.footprint_bytes == now.slab_bytes + now.large_bytes);
  EXPECT(now.peak_footprint_bytes == now.footprint_bytes);
  EXPECT(now.refills == 2 && now.flushes == 0 && now.remote_frees == 0);
  EXPECT(now.used_bytes >= 112 + (1 << 20));
  tarn_free(block);
  tarn_heap_destroy(heap);
  return NULL;
}

void* scene_make(void) {
  char* const block = tarn_malloc(1000);
  if (block != NULL) memset(block, 9, 1000);
  return block;
}

const char* scene_free_elsewhere(void* block) {
  EXPECT(tarn_owner_of(block) != NULL && tarn_owner_of(block) != tarn_current_heap());
  EXPECT(tarn_usable_size(block) >= 1000);
  char* const moved = tarn_realloc(block, 3000);
  EXPECT(moved != NULL && moved[0] == 9 && moved[999] == 9);
  EXPECT(tarn_owner_of(moved) == tarn_current_heap());
  tarn_free(moved);
  return NULL;
}
