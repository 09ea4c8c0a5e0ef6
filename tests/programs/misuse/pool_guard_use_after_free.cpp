// A write to a freed block of a lock-free pool, found when the program ends.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: use after free: byte 8 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
#include <tarn/lock_free_pool.hpp>

#include "../guarded.h"

struct node {
  node* next = nullptr;
  long values[2] = {};
};

int main() {
  tarn::lock_free_pool<node> nodes;
  node* const object = nodes.create();
  note_guarded(object);
  nodes.destroy(object);
  static_cast<node*>(hidden(object))->values[0] = 7;
}
