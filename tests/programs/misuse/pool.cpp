// Misuse of pools.
//@ broken-by text
//@ signal ABRT
#include <tarn/heap.hpp>
#include <tarn/lock_free_pool.hpp>
#include <tarn/pool.hpp>
#include <tarn/shared_pool.hpp>

#include <thread>

#include "../cases.h"
#include "../guarded.h"

struct node {
  node* next = nullptr;
  long values[2] = {};
  ~node() { next = nullptr; }
};

// A block goes back to its pool twice; the pool finds out when its live objects are destroyed.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=0
//@ stderr tarn: pool "nodes" at {p}: double free of the 24-byte block at {q}
//@ stderr tarn: free each block once; pool_options::is_guarded shows where it was freed before
CASE(pool_double_free) {
  tarn::pool<node> nodes({.name = "nodes"});
  note_pointer("p", &nodes);
  node* const object = nodes.create();
  static_cast<void>(nodes.create());
  note_pointer("q", object);
  nodes.destroy(object);
  nodes.destroy(object);
  nodes.destroy_all();
}

// A block goes back to a pool that it is not from.
//@ tarn-only
//@ no-preload
//@ stderr tarn: pool "nodes" at {p}: foreign pointer {q}: not a block of this pool
//@ stderr tarn: free a block in the pool that it came from, by the address that allocate() returned
CASE(pool_foreign) {
  tarn::pool<node> nodes({.name = "nodes"});
  tarn::pool<node> others;
  note_pointer("p", &nodes);
  static_cast<void>(nodes.create());
  node* const foreign = others.create();
  note_pointer("q", foreign);
  nodes.destroy(foreign);
  nodes.destroy_all();
}

// A block goes back after its pool has given all memory back.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=0
//@ stderr tarn: pool "nodes" at {p}: foreign pointer {q}: not a block of this pool
//@ stderr tarn: free a block in the pool that it came from, by the address that allocate() returned
CASE(pool_free_after_release) {
  tarn::pool<node> nodes({.name = "nodes"});
  note_pointer("p", &nodes);
  node* const object = nodes.create();
  note_pointer("q", object);
  nodes.release();
  nodes.deallocate(object);
}

// With guarded pools, a thread that has used its heap inline before its first guarded block ends in good order.
//@ env TARN_GUARD=1
//@ exit 0
CASE(pool_guard_after_inline) {
  tarn::pool<long> numbers({.name = "numbers"});
  numbers.destroy(numbers.create(1L));
  std::thread worker([] {
    void* blocks[100];
    for (void*& block : blocks) block = tarn::current_heap().allocate(24);
    for (void* block : blocks) tarn::current_heap().deallocate(block, 24);
    tarn::pool<long> pool_of_thread({.name = "own"});
    long* const number = pool_of_thread.create(2L);
    CHECK(*number == 2);
    for (void*& block : blocks) block = tarn::current_heap().allocate(24);
    for (void* block : blocks) tarn::current_heap().deallocate(block, 24);
    pool_of_thread.destroy(number);
  });
  worker.join();
}

// A block of a guarded pool is freed twice: the report names the first free.
//@ tarn-only
//@ no-preload
//@ stderr tarn: pool::deallocate({p}): double free of a block of 24 bytes; freed before at {program}+0xADDR by
//@ more thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(pool_guard_double_free) {
  tarn::pool<long[3]> triples({.name = "triples", .is_guarded = true});
  void* const triple = triples.allocate();
  note_guarded(triple);
  triples.deallocate(triple);
  triples.deallocate(hidden(triple));
}

// A block freed to a pool that is not its own.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=1
//@ stderr tarn: pool "short" at {q}: foreign pointer {p}: not a block of this pool
//@ stderr tarn: free a block in the pool that it came from, by the address that allocate() returned
CASE(pool_guard_foreign) {
  tarn::pool<long[3]> longs({.name = "long"}), shorts({.name = "short"});
  void* const block = longs.allocate();
  static_cast<void>(shorts.allocate());
  note_guarded(block);
  note_pointer("q", &shorts);
  shorts.deallocate(hidden(block));
}

// A block freed after its pool has released all.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=1
//@ stderr tarn: pool::deallocate({p}): double free of a block of 24 bytes; freed before at {program}+0xADDR by
//@ more thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(pool_guard_free_after_release) {
  tarn::pool<long[3]> triples;
  void* const triple = triples.allocate();
  note_guarded(triple);
  triples.release();
  triples.deallocate(hidden(triple));
}

// Blocks are in use when a guarded pool ends: the report counts them and names their sites. A program that clears the
// pool gets no report.
//@ tarn-only
//@ no-preload
//@ stderr tarn: pool "orders" at {q}: ended with 3 blocks, 72 bytes, in use
//@ stderr tarn:   2 blocks, 48 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   1 blocks, 24 bytes, allocated at {program}+0xADDR by thread {thread}
//@ exit 0
CASE(pool_guard_leak) {
  tarn::pool<long[3]> cleared({.name = "cleared", .is_guarded = true});
  static_cast<void>(cleared.allocate());
  cleared.clear();
  tarn::pool<long[3]> orders({.name = "orders", .is_guarded = true});
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

// A byte behind a block of a shared pool, freed by another thread.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=1
//@ stderr tarn: pool::deallocate({p}): overrun: 1 bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(pool_guard_overrun) {
  tarn::shared_pool<char[24]> lines;
  auto* const line = static_cast<char*>(lines.allocate());
  note_guarded(line);
  static_cast<char*>(hidden(line))[24] = 0;
  std::thread([&] { lines.deallocate(line); }).join();
}

struct linked_node {
  linked_node* next = nullptr;
  long values[2] = {};
};

// A write to a freed block of a lock-free pool, found when the program ends.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=1
//@ stderr tarn: use after free: byte 8 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
CASE(pool_guard_use_after_free) {
  tarn::lock_free_pool<linked_node> nodes;
  linked_node* const object = nodes.create();
  note_guarded(object);
  nodes.destroy(object);
  static_cast<linked_node*>(hidden(object))->values[0] = 7;
}

// A block goes back to a lock-free pool twice, the second time by another thread and after others were taken.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=0
//@ stderr tarn: pool "nodes" at {p}: double free of the 24-byte block at {q}
//@ stderr tarn: free each block once; pool_options::is_guarded shows where it was freed before
CASE(pool_lock_free_double_free) {
  tarn::lock_free_pool<linked_node> nodes({.name = "nodes"});
  note_pointer("p", &nodes);
  linked_node* const object = nodes.create();
  linked_node* const two = nodes.create();
  linked_node* const three = nodes.create();
  note_pointer("q", two);
  nodes.destroy(object);
  nodes.destroy(two);
  nodes.destroy(three);
  static_cast<void>(nodes.create());
  std::thread([&] { nodes.destroy(two); }).join();
}
