// Misuse of heap objects.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
#include <tarn/tarn.h>
#include <tarn/heap.hpp>
#include <tarn/tarn.hpp>

#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "../cases.h"
#include "../guarded.h"

// deallocate of an address that is no block of any heap.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ stderr tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
CASE(heap_foreign) {
  alignas(64) char local[64] = "";
  tarn::heap lane;
  note_pointer("p", local);
  lane.deallocate(hidden(local));
}

struct order : tarn::pooled<order> {
  char text[90];
};

// Blocks in use when a heap ends that notes its sites: of every face, with what another thread freed left out.
//@ stderr tarn: heap "lane" at {q}: ended with 5 blocks, 600464 bytes, in use
//@ stderr tarn:   1 blocks, 600000 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   2 blocks, 288 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   1 blocks, 96 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   1 blocks, 80 bytes, allocated at {program}+0xADDR by thread {thread}
//@ exit 0
CASE(heap_leak) {
  tarn::heap lane({.name = "lane", .records_sites = true});
  note_guarded(nullptr);
  note_pointer("q", &lane);
  static_cast<void>(lane.allocate(1000));
  lane.release();  // drops the earlier notes as well
  {
    const tarn::scoped_current_heap use(lane);
    static_cast<void>(hidden(new order));
    delete new order;
    std::pmr::polymorphic_allocator<char> bytes(&lane);
    bytes.deallocate(bytes.allocate(70), 70);
    void* freed = nullptr;
    for (int i = 0; i < 3; ++i) {
      freed = hidden(tarn_malloc(144));
    }
    std::thread([=] { tarn_free(freed); }).join();
    static_cast<void>(hidden(tarn_realloc(tarn_malloc(300), 600000)));
  }
  static_cast<void>(hidden(lane.allocate(80)));
}

// A heap ends inside of the scope in which it is current.
//@ stderr tarn: a heap ended while it was current: the tarn::scoped_current_heap that ends at {program}+0xADDR by
//@ more thread {thread} had made it current
//@ stderr tarn: declare the heap before the scoped_current_heap, so that the heap ends after it
CASE(heap_ends_in_its_scope) {
  note_guarded(nullptr);
  auto lane = std::make_unique<tarn::heap>();
  const tarn::scoped_current_heap use(*lane);
  lane.reset();
  delete static_cast<order*>(hidden(new order));  // comes from the thread's heap
}

// A heap ends inside of a scope in which another one is current; the new heap at its place is not the same.
//@ stderr tarn: a heap ended while it was current: the tarn::scoped_current_heap that ends at {program}+0xADDR by
//@ more thread {thread} would make it current again
//@ stderr tarn: declare the heap before the scoped_current_heap, so that the heap ends after it
CASE(heap_ends_in_an_inner_scope) {
  note_guarded(nullptr);
  tarn::heap inner;
  std::optional<tarn::heap> outer(std::in_place);
  const tarn::scoped_current_heap use_outer(*outer);
  {
    const tarn::scoped_current_heap use_inner(inner);
    outer.reset();
    outer.emplace();
  }
  delete static_cast<order*>(hidden(new order));
}

// A program that ends inside of a scope, before its heap ends.
//@ exit 0
CASE(heap_ends_with_the_program) {
  static tarn::heap lane;
  const tarn::scoped_current_heap use(lane);
  static_cast<void>(hidden(new order));
  exit(0);
}

// A heap's limit: bad_alloc, or null from try_allocate; freeing makes room; other heaps go on.
//@ exit 0
CASE(heap_limit) {
  tarn::heap lane({.name = "lane", .limit = 16 << 20});
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    try {
      while (blocks.size() < 40000) blocks.push_back(lane.allocate(1000));
    } catch (const std::bad_alloc&) {
    }
    CHECK(blocks.size() > 14000 && blocks.size() < 16800);
    CHECK(lane.try_allocate(1 << 20) == nullptr);
    CHECK(tarn::current_heap().try_allocate(64) != nullptr);
    for (void* block : blocks) lane.deallocate(block, 1000);
    void* p = lane.allocate(8 << 20);
    lane.deallocate(p, 8 << 20);
  }
  lane.release();
  CHECK(lane.is_valid());
}

// deallocate of a block of the system's malloc.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ stderr tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
CASE(heap_malloced) {
  void* p = malloc(64);
  note_pointer("p", p);
  tarn::current_heap().deallocate(hidden(p), 64);
}

// Another thread frees a block of a heap that forbids remote frees: both threads are named.
//@ stderr tarn: heap "parser": block {p} freed by thread {other}, but only thread {owner} may free blocks of this heap
//@ stderr tarn: free the block in the thread of its heap, or create the heap without forbids_remote_frees
CASE(heap_strict) {
  tarn::heap lane({.name = "parser", .forbids_remote_frees = true});
  void* p = lane.allocate(64);
  note_pointer("p", p);
  note_size("owner", static_cast<std::size_t>(gettid()));
  std::thread([p] {
    note_size("other", static_cast<std::size_t>(gettid()));
    tarn::current_heap().deallocate(p);
  }).join();
}

// A large block of a heap that forbids remote frees is freed by another thread; the heap's name has to be escaped.
//@ stderr tarn: heap "a\x0ab": block {p} freed by thread {other}, but only thread {owner} may free blocks of this heap
//@ stderr tarn: free the block in the thread of its heap, or create the heap without forbids_remote_frees
CASE(heap_strict_large) {
  tarn::heap lane({.name = "a\nb", .forbids_remote_frees = true});
  void* p = lane.allocate(1 << 20);
  note_pointer("p", p);
  note_size("owner", static_cast<std::size_t>(gettid()));
  std::thread([p] {
    note_size("other", static_cast<std::size_t>(gettid()));
    tarn::current_heap().deallocate(p);
  }).join();
}

// The thread of a heap that forbids remote frees may free by any way, also through another heap.
//@ exit 0
CASE(heap_strict_own_thread) {
  tarn::heap lane({.name = "parser", .forbids_remote_frees = true}), second_heap;
  tarn::current_heap().deallocate(lane.allocate(64));
  second_heap.deallocate(lane.allocate(64));
  second_heap.deallocate(lane.allocate(1 << 20));
  lane.deallocate(lane.allocate(100), 100);
  CHECK(lane.is_valid());
}

// deallocate with a size of another class than the block's.
//@ stderr tarn: free({p}, 97 to 112): wrong size: the block has 64 bytes
//@ stderr tarn: pass the size that was allocated: delete an object by its own type
CASE(heap_wrong_size) {
  tarn::heap lane;
  void* p = lane.allocate(64);
  note_pointer("p", p);
  lane.deallocate(hidden(p), 112);
}

// deallocate of a large block with the size of a small one.
//@ stderr tarn: free({p}, 97 to 112): wrong size: the block has 1048576 bytes
//@ stderr tarn: pass the size that was allocated: delete an object by its own type
CASE(heap_wrong_size_large) {
  tarn::heap lane;
  void* p = lane.allocate(1 << 20);
  note_pointer("p", p);
  lane.deallocate(hidden(p), 112);
}
