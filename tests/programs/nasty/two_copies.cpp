// Four copies of the engine in one process: the drop-in, this program's, and those of two libraries. None takes another
// one's blocks for its own, and no function of one runs in place of another one's.
//@ tarn-only
//@ broken-by text
#include "../check.h"

#include <thread>
#include <vector>

#include <tarn/allocator.hpp>
#include <tarn/heap.hpp>

#define DECLARE(copy)                                                  \
  void *allocate_in_##copy(), free_in_##copy(void*), work_in_##copy(); \
  const void *global_of_##copy(), *current_of_##copy();                \
  bool owns_##copy(const void*);

extern "C" {
DECLARE(first)
DECLARE(second)
}

namespace {

void work() {
  void* const block = tarn::current_heap().allocate(100);
  void* const of_first = allocate_in_first();
  void* const of_second = allocate_in_second();
  void* const of_drop_in = malloc(100);
  CHECK(tarn::owner_of(block) != nullptr && !owns_first(block) && !owns_second(block));
  CHECK(tarn::owner_of(of_first) == nullptr && owns_first(of_first) && !owns_second(of_first));
  CHECK(tarn::owner_of(of_second) == nullptr && !owns_first(of_second) && owns_second(of_second));
  CHECK(tarn::owner_of(of_drop_in) == nullptr && !owns_first(of_drop_in) && !owns_second(of_drop_in));
  work_in_second();
  work_in_first();
  std::vector<int, tarn::allocator<int>> numbers(100);
  numbers.push_back(1);
  free_in_second(of_second);
  free_in_first(of_first);
  free(of_drop_in);
  tarn::current_heap().deallocate(block, 100);
}

}  // namespace

int main() {
  CHECK(global_of_first() != global_of_second() && global_of_first() != &tarn::process_heap());
  CHECK(current_of_first() != current_of_second() && current_of_first() != &tarn::current_heap());
  work();
  std::thread another(work);
  another.join();
  return 0;
}
