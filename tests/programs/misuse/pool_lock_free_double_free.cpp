// A block goes back to a lock-free pool twice, the second time by another thread and after others were taken.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=0
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: pool "nodes" at {p}: double free of the 24-byte block at {q}
#include <tarn/lock_free_pool.hpp>

#include <thread>

#include "../check.h"

struct node {
  node* next = nullptr;
  long values[2] = {};
};

int main() {
  tarn::lock_free_pool<node> nodes({.name = "nodes"});
  note_pointer("p", &nodes);
  node* const object = nodes.create();
  node* const two = nodes.create();
  node* const three = nodes.create();
  note_pointer("q", two);
  nodes.destroy(object);
  nodes.destroy(two);
  nodes.destroy(three);
  static_cast<void>(nodes.create());
  std::thread([&] { nodes.destroy(two); }).join();
}
