// A block goes back to a pool that it is not from.
//@ tarn-only
//@ no-preload
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
  tarn::pool<node> others;
  note_pointer("p", &nodes);
  static_cast<void>(nodes.create());
  node* const foreign = others.create();
  note_pointer("q", foreign);
  nodes.destroy(foreign);
  nodes.destroy_all();
}
