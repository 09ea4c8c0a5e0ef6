// Blocks are in use when a guarded pool ends: the report counts them and names their sites. A program that clears the
// pool gets no report.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ stderr tarn: pool "orders" at {q}: ended with 3 blocks, 72 bytes, in use
//@ stderr tarn:   2 blocks, 48 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   1 blocks, 24 bytes, allocated at {program}+0xADDR by thread {thread}
#include <tarn/pool.hpp>

#include "../guarded.h"

int main() {
  tarn::pool<long[3]> cleared({.name = "cleared", .guard = true});
  static_cast<void>(cleared.allocate());
  cleared.clear();
  tarn::pool<long[3]> orders({.name = "orders", .guard = true});
  note_pointer("q", &orders);
  void* last = nullptr;
  static_cast<void>(orders.allocate());
  for (int i = 0; i < 3; ++i) {
    if (last != nullptr) orders.deallocate(last);
    last = orders.allocate();
    if (i == 1) last = nullptr;
  }
  note_guarded(last);
}
