// A block goes back after its pool has given all memory back.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=0
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: pool "nodes" at {p}: foreign pointer {q}: not a block of this pool
#include <tarn/pool.hpp>

#include "../check.h"

struct node {
  node* next = nullptr;
  long values[2] = {};
  ~node() { next = nullptr; }
};

int main() {
  tarn::pool<node> nodes({.name = "nodes"});
  note_pointer("p", &nodes);
  node* const object = nodes.create();
  note_pointer("q", object);
  nodes.release();
  nodes.deallocate(object);
}
