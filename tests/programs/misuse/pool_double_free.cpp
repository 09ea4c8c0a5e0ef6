// A block goes back to its pool twice; the pool finds out when its live objects are destroyed.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=0
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: pool "nodes" at {p}: double free of the 24-byte block at {q}
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
  static_cast<void>(nodes.create());
  note_pointer("q", object);
  nodes.destroy(object);
  nodes.destroy(object);
  nodes.destroy_all();
}
