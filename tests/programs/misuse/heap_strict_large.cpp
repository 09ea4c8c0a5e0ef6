// A large block of a strict heap is freed by another thread; the heap's name has to be escaped.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: heap "a\x0ab": block {p} freed by thread {other}, but only thread {owner} may use this strict heap
#include <tarn/heap.hpp>
#include <thread>

#include "../check.h"

int main() {
  tarn::heap lane({.name = "a\nb", .strict = true});
  void* p = lane.allocate(1 << 20);
  note_pointer("p", p);
  note_size("owner", static_cast<std::size_t>(gettid()));
  std::thread([p] {
    note_size("other", static_cast<std::size_t>(gettid()));
    tarn::current().deallocate(p);
  }).join();
}
