// With guarded pools, a thread that has used its heap inline before its first guarded block ends in good order.
//@ env TARN_GUARD=1
//@ broken-by text
#include <thread>

#include <tarn/heap.hpp>
#include <tarn/pool.hpp>

#include "../check.h"

int main() {
  tarn::pool<long> numbers({.name = "numbers"});
  numbers.destroy(numbers.create(1L));
  std::thread worker([] {
    void* blocks[100];
    for (void*& each : blocks) each = tarn::current().allocate(24);
    for (void* each : blocks) tarn::current().deallocate(each, 24);
    tarn::pool<long> pool_of_thread({.name = "own"});
    long* const number = pool_of_thread.create(2L);
    CHECK(*number == 2);
    for (void*& each : blocks) each = tarn::current().allocate(24);
    for (void* each : blocks) tarn::current().deallocate(each, 24);
    pool_of_thread.destroy(number);
  });
  worker.join();
  return 0;
}
