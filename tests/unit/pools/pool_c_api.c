/* The pools of tarn.h from C. */
#include "pool_c_api.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <tarn/tarn.h>

#include "support/scene.h"

enum { block_count = 1000 };

const char* scene_pool_blocks(void) {
  void* blocks[block_count];
  tarn_pool* const pool = tarn_pool_create(100, 64, NULL);
  EXPECT(pool != NULL);
  for (int round = 0; round < 3; ++round) {
    for (int index = 0; index < block_count; ++index) {
      blocks[index] = tarn_pool_malloc(pool);
      EXPECT(blocks[index] != NULL && (uintptr_t)blocks[index] % 64 == 0);
      memset(blocks[index], index, 100);
    }
    EXPECT(tarn_pool_get_statistics(pool).in_use == block_count);
    for (int index = 0; index < block_count; ++index) {
      EXPECT(((unsigned char*)blocks[index])[99] == (unsigned char)index);
      tarn_pool_free(pool, blocks[index]);
    }
    EXPECT(tarn_pool_get_statistics(pool).in_use == 0);
  }
  tarn_pool_free(pool, NULL);
  EXPECT(tarn_pool_malloc(pool) != NULL);
  tarn_pool_clear(pool);
  EXPECT(tarn_pool_get_statistics(pool).capacity >= block_count);
  tarn_pool_release(pool);
  EXPECT(tarn_pool_get_statistics(pool).capacity == 0);
  EXPECT(tarn_pool_reserve(pool, 77) && tarn_pool_get_statistics(pool).capacity == 77);
  tarn_pool_destroy(pool);
  tarn_pool_destroy(NULL);
  return NULL;
}

const char* scene_pool_errors(void) {
  const tarn_pool_options options = {.name = "small", .limit_blocks = 3};
  errno = 0;
  EXPECT(tarn_pool_create(8, 48, NULL) == NULL && errno == EINVAL);
  errno = 0;
  EXPECT(tarn_shared_pool_create(8, 3, NULL) == NULL && errno == EINVAL);
  tarn_pool* const pool = tarn_pool_create(16, 0, &options);
  tarn_shared_pool* const shared = tarn_shared_pool_create(16, 0, &options);
  for (int index = 0; index < 3; ++index) {
    EXPECT(tarn_pool_malloc(pool) != NULL && tarn_shared_pool_malloc(shared) != NULL);
  }
  errno = 0;
  EXPECT(tarn_pool_malloc(pool) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(tarn_shared_pool_malloc(shared) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(!tarn_pool_reserve(pool, 4) && errno == ENOMEM);
  errno = 0;
  EXPECT(!tarn_shared_pool_reserve(shared, 4) && errno == ENOMEM);
  tarn_pool_destroy(pool);
  tarn_shared_pool_destroy(shared);
  tarn_shared_pool_destroy(NULL);
  return NULL;
}

const char* scene_pool_upstream(void) {
  tarn_heap* const heap = tarn_heap_create(NULL);
  const tarn_pool_options options = {.upstream = heap, .first_chunk_blocks = 10, .increment_blocks = 5};
  tarn_pool* const pool = tarn_pool_create(32, 0, &options);
  EXPECT(tarn_owner_of(tarn_pool_malloc(pool)) == heap);
  EXPECT(tarn_pool_get_statistics(pool).capacity == 10);
  for (int index = 0; index < 10; ++index) EXPECT(tarn_pool_malloc(pool) != NULL);
  EXPECT(tarn_pool_get_statistics(pool).capacity == 15 && tarn_pool_get_statistics(pool).chunks == 2);
  tarn_pool_destroy(pool);
  tarn_heap_destroy(heap);
  return NULL;
}

struct handed {
  tarn_shared_pool* pool;
  void* blocks[block_count];
};

static void* free_all(void* argument) {
  struct handed* const shared = argument;
  for (int index = 0; index < block_count; ++index) tarn_shared_pool_free(shared->pool, shared->blocks[index]);
  return NULL;
}

static const char* hand_over(const tarn_pool_options* options) {
  static struct handed shared;
  shared.pool = tarn_shared_pool_create(40, 8, options);
  EXPECT(shared.pool != NULL);
  for (int round = 0; round < 3; ++round) {
    for (int index = 0; index < block_count; ++index) {
      EXPECT((shared.blocks[index] = tarn_shared_pool_malloc(shared.pool)) != NULL);
      memset(shared.blocks[index], index, 40);
    }
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, free_all, &shared) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
  }
  tarn_shared_pool_free(shared.pool, NULL);
  EXPECT(tarn_shared_pool_reserve(shared.pool, 10));
  EXPECT(tarn_shared_pool_get_statistics(shared.pool).capacity < 4 * block_count);
  tarn_shared_pool_destroy(shared.pool);
  return NULL;
}

const char* scene_shared_pool_blocks(void) { return hand_over(NULL); }

const char* scene_guarded_pools(void) {
  const tarn_pool_options options = {.name = "guarded", .is_guarded = true};
  tarn_pool* const pool = tarn_pool_create(24, 0, &options);
  void* const block = tarn_pool_malloc(pool);
  tarn_pool_free(pool, block);
  void* const two = tarn_pool_malloc(pool);
  EXPECT(two != NULL && two != block);
  EXPECT(tarn_pool_get_statistics(pool).in_use == 1);
  tarn_pool_free(pool, two);
  tarn_pool_destroy(pool);
  return hand_over(&options);
}
