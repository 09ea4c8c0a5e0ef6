/* The pools of tarn.h from C. */
#include "pool_c_api.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <tarn/tarn.h>

#define TEXT_OF(what) #what
#define TEXT(what) TEXT_OF(what)
#define EXPECT(condition)                                     \
  do {                                                        \
    if (!(condition)) {                                       \
      return __FILE__ ":" TEXT(__LINE__) ": not " #condition; \
    }                                                         \
  } while (0)

enum { many = 1000 };

const char* scene_pool_blocks(void) {
  void* blocks[many];
  tarn_pool* const pool = tarn_pool_create(100, 64, NULL);
  EXPECT(pool != NULL);
  for (int round = 0; round < 3; ++round) {
    for (int at = 0; at < many; ++at) {
      blocks[at] = tarn_pool_malloc(pool);
      EXPECT(blocks[at] != NULL && (uintptr_t)blocks[at] % 64 == 0);
      memset(blocks[at], at, 100);
    }
    EXPECT(tarn_pool_get_statistics(pool).in_use == many);
    for (int at = 0; at < many; ++at) {
      EXPECT(((unsigned char*)blocks[at])[99] == (unsigned char)at);
      tarn_pool_free(pool, blocks[at]);
    }
    EXPECT(tarn_pool_get_statistics(pool).in_use == 0);
  }
  tarn_pool_free(pool, NULL);
  EXPECT(tarn_pool_malloc(pool) != NULL);
  tarn_pool_clear(pool);
  EXPECT(tarn_pool_get_statistics(pool).capacity >= many);
  tarn_pool_release(pool);
  EXPECT(tarn_pool_get_statistics(pool).capacity == 0);
  EXPECT(tarn_pool_reserve(pool, 77) && tarn_pool_get_statistics(pool).capacity == 77);
  tarn_pool_destroy(pool);
  tarn_pool_destroy(NULL);
  return NULL;
}

const char* scene_pool_errors(void) {
  const tarn_pool_options options = {.name = "small", .limit = 3};
  errno = 0;
  EXPECT(tarn_pool_create(8, 48, NULL) == NULL && errno == EINVAL);
  errno = 0;
  EXPECT(tarn_shared_pool_create(8, 3, NULL) == NULL && errno == EINVAL);
  tarn_pool* const pool = tarn_pool_create(16, 0, &options);
  tarn_shared_pool* const shared = tarn_shared_pool_create(16, 0, &options);
  for (int at = 0; at < 3; ++at) {
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
  const tarn_pool_options options = {.upstream = heap, .first_chunk = 10, .step = 5};
  tarn_pool* const pool = tarn_pool_create(32, 0, &options);
  EXPECT(tarn_owner_of(tarn_pool_malloc(pool)) == heap);
  EXPECT(tarn_pool_get_statistics(pool).capacity == 10);
  for (int at = 0; at < 10; ++at) {
    EXPECT(tarn_pool_malloc(pool) != NULL);
  }
  EXPECT(tarn_pool_get_statistics(pool).capacity == 15 && tarn_pool_get_statistics(pool).chunks == 2);
  tarn_pool_destroy(pool);
  tarn_heap_destroy(heap);
  return NULL;
}

struct handed {
  tarn_shared_pool* pool;
  void* blocks[many];
};

static void* free_all(void* argument) {
  struct handed* const all = argument;
  for (int at = 0; at < many; ++at) {
    tarn_shared_pool_free(all->pool, all->blocks[at]);
  }
  return NULL;
}

static const char* hand_over(const tarn_pool_options* options) {
  static struct handed all;
  all.pool = tarn_shared_pool_create(40, 8, options);
  EXPECT(all.pool != NULL);
  for (int round = 0; round < 3; ++round) {
    for (int at = 0; at < many; ++at) {
      EXPECT((all.blocks[at] = tarn_shared_pool_malloc(all.pool)) != NULL);
      memset(all.blocks[at], at, 40);
    }
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, free_all, &all) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
  }
  tarn_shared_pool_free(all.pool, NULL);
  EXPECT(tarn_shared_pool_reserve(all.pool, 10));
  EXPECT(tarn_shared_pool_get_statistics(all.pool).capacity < 4 * many);
  tarn_shared_pool_destroy(all.pool);
  return NULL;
}

const char* scene_shared_pool_blocks(void) { return hand_over(NULL); }

const char* scene_guarded_pools(void) {
  const tarn_pool_options options = {.name = "guarded", .guard = true};
  tarn_pool* const pool = tarn_pool_create(24, 0, &options);
  void* const one = tarn_pool_malloc(pool);
  tarn_pool_free(pool, one);
  void* const two = tarn_pool_malloc(pool);
  EXPECT(two != NULL && two != one);
  EXPECT(tarn_pool_get_statistics(pool).in_use == 1);
  tarn_pool_free(pool, two);
  tarn_pool_destroy(pool);
  return hand_over(&options);
}
