// Ends all blocks of a heap at once, and makes its record ready for another owner.
#include <algorithm>
#include <iterator>

#include "memory/heap/heap.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {

void heap::release() noexcept {
  used_classes.for_each([this](size_class index) {
    class_state& class_entry = classes[index];
    class_entry.available = {};
    if (class_entry.front != nullptr) top_of(index) = class_entry.bottom();
    while (class_entry.full_magazines.first != nullptr) stock.give(class_entry.full_magazines.pop());
    class_entry.full_magazines.low = 0;
    if (policy.is_counting()) class_entry.frees.add(class_entry.allocations.get() - class_entry.frees.get());
  });
  depot_arrays = 0;
  // Other threads' frees of these blocks never wait in those threads' batches, and the program orders each free
  // before the release: so all earlier frees are in this inbox.
  discard_inbox();
  depot_bytes.subtract(depot_bytes.get());
  taken_bytes.subtract(taken_bytes.get());
  slabs.subtract(slabs.get());
  slab_bytes.subtract(slab_bytes.get());
  large_blocks.store(0, std::memory_order_relaxed);
  large_bytes.store(0, std::memory_order_relaxed);
  run_bytes.store(0, std::memory_order_relaxed);
  space->release_all(eager_bytes);
}

void heap::reset() noexcept {
  send_all();
  close_batch();
  used_classes.for_each([this](size_class index) {
    class_state& class_entry = classes[index];
    if (class_entry.front != nullptr) stock.give(class_entry.front);
    class_entry = class_state{};
  });
  used_classes.clear();
  for (void**& class_top : top) class_top = shut_top();
  stock.clear();
  policy.clear();
  eager_bytes = 0;
  name[0] = 0;
  resource = nullptr;
  slow_calls = owner_counter{};
  forget_past_use();
  depot_arrays = 0;
  next_decay_ms = 0;
  owner_thread = 0;
  for (owner_counter* counter :
       {&remote_frees, &slabs, &slab_bytes, &refills, &flushes, &taken_bytes, &depot_bytes, &front_bytes}) {
    *counter = owner_counter{};
  }
  for (auto* counter : {&large_blocks, &large_bytes, &large_allocated, &large_allocated_bytes, &peak_bytes, &run_bytes,
                        &run_peak_bytes}) {
    *counter = 0;
  }
}

void heap::purge_record() noexcept {
  const std::size_t page = platform::page_bytes();
  char* const begin = base::align_up(reinterpret_cast<char*>(classes), page);
  char* const end = base::align_up(reinterpret_cast<char*>(this + 1), page);
  TARN_CHECK(std::all_of(std::begin(classes), std::end(classes), [](const class_state& entry) {
    return entry.front == nullptr && entry.full_magazines.count == 0 && entry.available.empty() &&
           entry.seen_top == nullptr && entry.capacity == 0 && entry.allocations.get() == 0 && entry.frees.get() == 0;
  }));
  if (begin < end) platform::purge(begin, static_cast<std::size_t>(end - begin));
}

}  // namespace tarn::heaps
