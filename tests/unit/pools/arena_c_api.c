/* The arenas of tarn.h from C. */
#include "arena_c_api.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <tarn/tarn.h>

#include "support/scene.h"

const char* scene_arena_blocks(void) {
  tarn_arena* const arena = tarn_arena_create(NULL);
  EXPECT(arena != NULL);
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes = 0; bytes < 3000; bytes += 7) {
      char* const block = tarn_arena_malloc(arena, bytes);
      EXPECT(block != NULL && (uintptr_t)block % 16 == 0);
      memset(block, 1, bytes);
    }
    EXPECT((uintptr_t)tarn_arena_aligned_alloc(arena, 256, 10) % 256 == 0);
    char* text = NULL;
    size_t length = 0;
    for (; length < 20000; length += 10) {
      text = tarn_arena_realloc(arena, text, length, length + 10);
      EXPECT(text != NULL);
      memcpy(text + length, "ten bytes.", 10);
    }
    EXPECT(memcmp(text + 10000, "ten bytes.", 10) == 0);
    tarn_arena_reset(arena);
    EXPECT(tarn_arena_get_statistics(arena).used_bytes == 0);
    EXPECT(tarn_arena_get_statistics(arena).chunks != 0);
  }
  tarn_arena_release(arena);
  EXPECT(tarn_arena_get_statistics(arena).chunks == 0);
  EXPECT(tarn_arena_get_statistics(arena).peak_bytes > 20000);
  tarn_arena_destroy(arena);
  tarn_arena_destroy(NULL);
  return NULL;
}

const char* scene_arena_marks(void) {
  tarn_arena* const arena = tarn_arena_create(NULL);
  EXPECT(tarn_arena_malloc(arena, 64) != NULL);
  const size_t used_bytes = tarn_arena_get_statistics(arena).used_bytes;
  for (int round = 0; round < 100; ++round) {
    const tarn_arena_mark outer = tarn_arena_set_mark(arena);
    EXPECT(outer.number != 0);
    EXPECT(tarn_arena_malloc(arena, 1000) != NULL);
    const tarn_arena_mark inner = tarn_arena_set_mark(arena);
    EXPECT(tarn_arena_malloc(arena, 10000) != NULL);
    if (round % 2 == 0) tarn_arena_rewind(arena, inner);
    tarn_arena_rewind(arena, outer);
  }
  EXPECT(tarn_arena_get_statistics(arena).used_bytes <= used_bytes + 8);
  tarn_arena_destroy(arena);
  return NULL;
}

const char* scene_arena_errors(void) {
  const tarn_arena_options options = {.name = "small", .limit = 10000};
  tarn_arena* const arena = tarn_arena_create(&options);
  errno = 0;
  EXPECT(tarn_arena_malloc(arena, 20000) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_arena_malloc(arena, SIZE_MAX) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_arena_aligned_alloc(arena, 48, 10) == NULL && errno == EINVAL);
  EXPECT(tarn_arena_aligned_alloc(arena, 0, 10) == NULL && errno == EINVAL);
  char* const block = tarn_arena_malloc(arena, 100);
  memset(block, 5, 100);
  errno = 0;
  EXPECT(tarn_arena_realloc(arena, block, 100, 20000) == NULL && errno == ENOMEM);
  EXPECT(block[99] == 5);
  while (tarn_arena_malloc(arena, 16) != NULL) {
  }
  errno = 0;
  EXPECT(tarn_arena_set_mark(arena).number == 0 && errno == ENOMEM);
  tarn_arena_destroy(arena);
  return NULL;
}

const char* scene_arena_upstream(void) {
  tarn_heap* const heap = tarn_heap_create(NULL);
  const tarn_arena_options options = {.upstream = heap, .first_chunk = 1000, .spare_limit = 1};
  tarn_arena* const arena = tarn_arena_create(&options);
  EXPECT(tarn_owner_of(tarn_arena_malloc(arena, 10)) == heap);
  EXPECT(tarn_arena_get_statistics(arena).chunk_bytes == 1008);
  tarn_arena_reset(arena);
  EXPECT(tarn_arena_get_statistics(arena).chunk_bytes == 0);
  tarn_arena_destroy(arena);
  tarn_heap_destroy(heap);
  return NULL;
}
