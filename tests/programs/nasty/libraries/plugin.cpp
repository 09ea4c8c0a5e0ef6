// A plugin with the heaps linked inside, which uses them to its end.
#include <pthread.h>
#include <tarn/tarn.h>
#include "../../check.h"

namespace {

int value = 0;
pthread_key_t keys[8];
int key_count = 0;

// Runs after the destructors of libtarn.a: other libraries take the keys that became free.
[[gnu::destructor]] void take_keys() {
  for (pthread_key_t& key : keys) {
    CHECK(pthread_key_create(&key, nullptr) == 0 && pthread_setspecific(key, &value) == 0);
    ++key_count;
  }
}

}  // namespace

// Leaves so much free memory that the engine starts the helper that gives it back.
extern "C" void plugin_frees_much() {
  void* blocks[12];
  for (void*& block : blocks) {
    block = tarn_malloc(1 << 20);
    CHECK(block != nullptr);
  }
  for (void* block : blocks) {
    tarn_free(block);
  }
}

namespace {

// Runs last. The thread that unloads has had no heap so far.
struct until_the_end {
  ~until_the_end() {
    void* const block = tarn_malloc(100);
    tarn_heap* const lane = tarn_heap_create(nullptr);
    CHECK(block != nullptr && lane != nullptr);
    tarn_set_current_heap(lane);
    tarn_heap_destroy(lane);
    tarn_free(tarn_malloc(100));
    tarn_free(block);
    plugin_frees_much();  // no helper starts any more
    for (int key = 0; key < key_count; ++key) {
      CHECK(pthread_getspecific(keys[key]) == &value);
    }
  }
} last;

}  // namespace

extern "C" void plugin_works() {
  for (size_t bytes = 1; bytes < 2000000; bytes *= 3) {
    tarn_free(tarn_malloc(bytes));
  }
}
