// Misuse of blocks of heap objects under the option `guard`.
//@ tarn-only
//@ no-preload
//@ env TARN_GUARD=1
//@ broken-by text
//@ signal ABRT
#include <tarn/tarn.h>
#include <tarn/heap.hpp>
#include <tarn/tarn.hpp>

#include <cstring>
#include <memory_resource>
#include <thread>
#include <vector>

#include "../cases.h"
#include "../guarded.h"

// One byte is written behind a block, which is freed then.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 64 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 64
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(heap_guard_overrun) {
  tarn::heap lane;
  auto* p = static_cast<char*>(hidden(lane.allocate(64)));
  note_guarded(p);
  p[64] = 1;
  lane.deallocate(p, 64);
}

// A container's memory has its exact size.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 70 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 70
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(heap_guard_overrun_exact) {
  tarn::heap lane;
  std::pmr::polymorphic_allocator<char> bytes(&lane);
  auto* p = static_cast<char*>(hidden(bytes.allocate(70)));
  note_guarded(p);
  p[70] = 1;
  bytes.deallocate(p, 70);
}

// Blocks of the C interface have their exact size, too.
//@ stderr tarn: free({p}): overrun: 2 bytes written past the end of the block of 21 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 21
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(heap_guard_overrun_in_c) {
  tarn_heap* lane = tarn_heap_create(nullptr);
  auto* p = static_cast<char*>(hidden(tarn_heap_malloc(lane, 21)));
  note_guarded(p);
  std::memset(p + 21, 1, 2);
  tarn_free(p);
}

// A large block.
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 600000 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 600000
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(heap_guard_overrun_large) {
  tarn::heap lane;
  auto* p = static_cast<char*>(hidden(lane.allocate(600000)));
  note_guarded(p);
  p[600000] = 1;
  lane.deallocate(p, 600000);
}

// Most blocks of a heap are never freed: their overruns show when the heap is released.
//@ stderr tarn: release({p}): overrun: 1 bytes written past the end of the block of 64 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 64
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(heap_guard_release) {
  tarn::heap lane;
  auto* p = static_cast<char*>(hidden(lane.allocate(64)));
  note_guarded(p);
  p[64] = 1;
  lane.release();
}

// They show at the end of the heap, too.
//@ stderr tarn: ~heap({p}): overrun: 1 bytes written past the end of the block of 64 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 64
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(heap_guard_end) {
  tarn::heap lane;
  auto* p = static_cast<char*>(hidden(lane.allocate(64)));
  note_guarded(p);
  p[64] = 1;
}

// A block is written after it was freed; the heap's end shows it at the latest.
//@ stderr tarn: use after free: byte 16 of the block of 64 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
CASE(heap_guard_use_after_free) {
  tarn::heap lane;
  auto* p = static_cast<char*>(hidden(lane.allocate(64)));
  note_guarded(p);
  lane.deallocate(p, 64);
  p[16] = 1;
}

// Later blocks drive the written one out of the quarantine.
//@ stderr tarn: use after free: byte 8 of the block of 64 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
CASE(heap_guard_use_after_free_found_early) {
  auto* lane = new tarn::heap;  // never ends
  auto* p = static_cast<char*>(hidden(lane->allocate(64)));
  note_guarded(p);
  lane->deallocate(p, 64);
  p[8] = 1;
  for (int i = 0; i < 300; ++i) lane->deallocate(lane->allocate(64), 64);
}

// A block is freed twice: both places are named.
//@ stderr tarn: free({p}): double free of a block of 64 bytes; freed before at {program}+0xADDR by thread {thread};
//@ more allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(heap_guard_double_free) {
  tarn::heap lane;
  void* p = hidden(lane.allocate(64));
  note_guarded(p);
  lane.deallocate(p, 64);
  lane.deallocate(hidden(p), 64);
}

// Another thread frees first.
//@ stderr tarn: free({p}): double free of a block of 64 bytes; freed before at {program}+0xADDR by thread {other};
//@ more allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(heap_guard_double_free_by_two) {
  tarn::heap lane;
  void* p = hidden(lane.allocate(64));
  note_guarded(p);
  std::thread([p] {
    note_size("other", static_cast<std::size_t>(gettid()));
    tarn::current_heap().deallocate(p);
  }).join();
  lane.deallocate(hidden(p), 64);
}

// The second free comes when the block no longer waits.
//@ stderr tarn: free({p}): double free of a block of 96 bytes; freed before at {program}+0xADDR by thread {thread};
//@ more allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
CASE(heap_guard_double_free_late) {
  tarn::heap lane;
  void* p = hidden(lane.allocate(96));
  note_guarded(p);
  lane.deallocate(p);
  for (int i = 0; i < 300; ++i) lane.deallocate(lane.allocate(700));
  lane.deallocate(hidden(p));
}

// A pointer into a block.
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 80-byte block at {q}
//@ stderr tarn: pass the address that the allocation returned
CASE(heap_guard_inside) {
  tarn::heap lane;
  void* q = hidden(lane.allocate(64));
  note_pointer("q", q);
  note_pointer("p", static_cast<char*>(q) + 8);
  lane.deallocate(static_cast<char*>(q) + 8);
}

// All faces work, also at the limit, where waiting blocks give way.
//@ exit 0
CASE(heap_guard_faces) {
  const tarn::heap_options limited{.name = "lane", .limit = 16 << 20};
  tarn::heap lane(limited), second_heap;
  for (int round = 0; round < 3; ++round) {
    std::pmr::vector<std::pmr::string> lines(&lane);
    for (int i = 0; i < 2000; ++i) lines.emplace_back(static_cast<std::size_t>(i), 'x');
    for (int i = 0; i < 2000; ++i) CHECK(lines[static_cast<std::size_t>(i)].size() == static_cast<std::size_t>(i));
    for (std::size_t alignment = 16; alignment <= 1 << 20; alignment *= 2) {
      void* p = lane.allocate(100, alignment);
      CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
      std::memset(p, 1, 100);
      second_heap.deallocate(p, 100, alignment);
    }
    const tarn::scoped_current_heap use(lane);
    auto* text = static_cast<char*>(tarn_calloc(10, 30));
    for (std::size_t bytes = 300; bytes < 1 << 20; bytes *= 2) {
      CHECK(tarn_usable_size(text) == bytes);
      CHECK(bytes == 300 || text[299] == 'y');
      text[299] = 'y';
      text = static_cast<char*>(tarn_realloc(text, 2 * bytes));
    }
    std::thread([text] { tarn_free(text); }).join();
    tarn::pool<long> numbers;  // is guarded itself, on guarded memory
    for (long i = 0; i < 1000; ++i) CHECK(*numbers.create(i) == i);
    numbers.clear();
    while (lane.try_allocate(10000) != nullptr) {
    }
    CHECK(lane.is_valid());
    lines.clear();
    lines.shrink_to_fit();
    lane.trim();
    CHECK(lane.try_allocate(10000) != nullptr);
    lane.release();
    CHECK(lane.is_valid());
  }
}
