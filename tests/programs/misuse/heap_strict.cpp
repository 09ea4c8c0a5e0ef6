// A block of a strict heap freed by another thread: both threads are named.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: heap "parser": block {p} freed by thread {other}, but only thread {owner} may use this strict heap
#include <tarn/heap.hpp>
#include <thread>

#include "../check.h"

int main() {
  tarn::heap lane({.name = "parser", .strict = true});
  void* p = lane.allocate(64);
  note_pointer("p", p);
  note_size("owner", static_cast<std::size_t>(gettid()));
  std::thread([p] {
    note_size("other", static_cast<std::size_t>(gettid()));
    tarn::current().deallocate(p);
  }).join();
}
