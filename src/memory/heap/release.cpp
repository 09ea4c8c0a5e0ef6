// Ends all blocks of a heap at once, and makes its record ready for another owner.
#include <cstring>

#include "memory/heap/heap.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

bool is_zero(const void* start, std::size_t bytes) noexcept {
  const char* const first = static_cast<const char*>(start);
  return *first == 0 && std::memcmp(first, first + 1, bytes - 1) == 0;
}

// Gives back the pages behind the first one in which only zeroes lie.
std::size_t purge_zeroes(char* record, std::size_t record_bytes) noexcept {
  const std::size_t page = platform::page_bytes();
  if (record != base::align_up(record, page)) return 0;
  char* const end = record + base::align_up(record_bytes, page);
  std::size_t bytes = 0;
  char* run = record + page;
  while (run < end) {
    char* run_end = run;
    while (run_end != end && is_zero(run_end, page)) run_end += page;
    const auto run_bytes = static_cast<std::size_t>(run_end - run);
    bytes += run_bytes != 0 && platform::purge(run, run_bytes) ? run_bytes : 0;
    run = run_end + page;
  }
  return bytes;
}

}  // namespace

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
  for (owner_counter* counter : {&remote_frees, &remote_bytes, &slabs, &slab_bytes, &refills, &flushes, &taken_bytes,
                                 &depot_bytes, &front_bytes}) {
    *counter = owner_counter{};
  }
  for (auto* counter : {&large_blocks, &large_bytes, &large_allocated, &large_allocated_bytes, &peak_bytes, &run_bytes,
                        &run_peak_bytes}) {
    *counter = 0;
  }
}

std::size_t heap::purge_record() noexcept {
  for (class_state& class_entry : classes) {
    TARN_CHECK(class_entry.front == nullptr && class_entry.full_magazines.count == 0);
    const bool counts_calls = class_entry.allocations.get() != 0 || class_entry.frees.get() != 0;
    if (!counts_calls && class_entry.available.empty() && !is_zero(&class_entry, sizeof class_entry)) {
      class_entry = class_state{};
    }
  }
  return purge_zeroes(reinterpret_cast<char*>(this), sizeof *this);
}

}  // namespace tarn::heaps
