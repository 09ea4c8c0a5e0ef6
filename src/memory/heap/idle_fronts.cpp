// Takes blocks out of the front magazines of an owner that sleeps.
//
// The owner's malloc and free are plain loads and stores on the front magazine, and nothing tells whether the owner was
// stopped in the middle of them. A visitor takes all blocks but the newest, and puts null in their place. The owner's
// malloc takes null for the end of the magazine, and its slow path then waits for the end of the visit. (Blocks of more
// than 8 KiB go below.)
//
//   owner, malloc                visitor
//   1 reads top                  4 exchanges an entry below top - 1 for null
//   2 reads the entry below      5 a barrier in all threads
//   3 top = top - 1              6 reads top, and then the entry
//
// The processor may delay 3, but not beyond the barrier. If the owner passes the barrier before 2, it reads null in 2.
// If it passes it after 2, then top was at most one above the entry at the barrier: the visitor sees that in 6, unless
// later calls of free have raised it. These have put a block into the entry, which the visitor sees, too. So what
// the visitor got is its own if the entry is still null and lies below top - 1. Otherwise the owner may have the block:
// the visitor puts it back, unless a block is there. If the owner does have it, top is at or below the entry, where
// the content has no meaning. (tests/models/idle_fronts.pml)
//
// Of the classes from first_large_class on the visitor takes the newest block, too. Their malloc (detail::pop_watched)
// changes top before it reads the entry, and back if that is null:
//
//   owner, malloc                visitor
//   1 reads top                  5 exchanges an entry below top for null
//   2 ends if the entry is null  6 a barrier in all threads
//   3 top = top - 1              7 reads top, and then the entry
//   4 reads the entry below
//
// If the owner passes the barrier before 4, it reads what the visitor has left or put back. If it passes it after 4,
// then the visitor sees 3 in 7, as above. In between, the visitor sees 3 as well, and puts the block back. The owner
// may read null before that and change top back, which leaves the block in the magazine. (The model's variant WIDE)
//
// So null may stand anywhere in a front magazine, until the next slow path of its class closes the gaps.
#include <algorithm>
#include <span>
#include <utility>

#include "memory/heap/heap.hpp"
#include "platform/threads.hpp"

namespace tarn::heaps {
namespace {

void** load_top(void** const& class_top) noexcept { return __atomic_load_n(&class_top, __ATOMIC_ACQUIRE); }

/// A block that a visitor has taken out of a magazine.
struct taken_block {
  void** entry;
  void* block;
  void** const* class_top;
  std::ptrdiff_t left;  ///< how many of the newest blocks stay

  // acquire: malloc and free write the entry before `top`.
  bool is_ours() const noexcept {
    return entry < load_top(*class_top) - left && __atomic_load_n(entry, __ATOMIC_ACQUIRE) == nullptr;
  }
  void put_back() const noexcept {
    void* expected = nullptr;
    __atomic_compare_exchange_n(entry, &expected, block, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
};

/// Blocks for which one barrier serves: many, but they fit on the smallest stack of a thread that trims.
constexpr std::size_t max_group = TARN_SMALL ? 4 : 256;

}  // namespace

// Returns a number that mostly changes while the owner allocates and frees. The slow paths may write the magazines
// meanwhile: then the owner is at work anyway, and the number does not matter.
[[gnu::no_sanitize_thread, gnu::noinline]] std::uint64_t heap::hash_of_tops() const noexcept {
  std::uint64_t hash = 0;
  for (size_class index = 0; index < detail::class_count; ++index) {
    void** const volatile& class_top = policy.is_closed() ? classes[index].closed_top : top[index];
    hash = hash * 31 + reinterpret_cast<std::uintptr_t>(class_top);
  }
  return hash;
}

// Moves the blocks of a front magazine together. Returns true if a visitor had left gaps.
bool heap::close_gaps(size_class index) noexcept {
  class_state& class_entry = classes[index];
  if (!class_entry.has_gaps) [[likely]] {
    return false;
  }
  class_entry.has_gaps = false;
  void**& class_top = top_of(index);
  class_top = std::remove(class_entry.bottom(), class_top, nullptr);
  return true;
}

// Does the same for a heap whose owner keeps visitors out whenever it uses a magazine or the quarantine.
bool heap::drop_all_fronts(bool (*stop)() noexcept) noexcept {
  bool has_finished = true;
  for (size_class index = 0; has_finished && index < detail::class_count; ++index) {
    if (used_classes.contains(index)) {
      drop_front(index);
      has_finished = !stop() && !visits.is_wanted();
    }
  }
  stock.clear();
  return has_finished;
}

// Returns the blocks of front magazines to their slabs, all but the newest of each class up to 8 KiB. Returns false if
// it ended early, because the owner waits or `stop` asked for it. Only a visitor may call it.
//
// Idle classes are those whose `top` has not changed since the last decay or visit. If only these are emptied, the
// owner is at work in other classes, and may use these at any moment, too: the protocol above allows that.
bool heap::empty_fronts(bool (*stop)() noexcept, emptied_fronts fronts) noexcept {
  if (policy.is_closed()) return drop_all_fronts(stop);
  taken_block group[max_group];
  std::size_t count = 0;
  const auto settle_group = [&] {
    const bool has_passed = count == 0 || platform::barrier_in_all_threads();
    for (const taken_block& candidate : std::span(group, count)) {
      if (has_passed && candidate.is_ours()) {
        give_to_slab(candidate.block, true);
      } else {
        candidate.put_back();
      }
    }
    count = 0;
    return has_passed && !stop() && !visits.is_wanted();
  };
  bool has_finished = true;
  for (size_class index = 0; has_finished && index < detail::class_count; ++index) {
    if (classes[index].front == nullptr) continue;
    void** const& class_top = top_of(index);
    void* const* const seen_top = std::exchange(classes[index].seen_top, load_top(class_top));
    if (fronts == emptied_fronts::idle_classes && classes[index].seen_top != seen_top) continue;
    const std::ptrdiff_t left = index < detail::first_large_class ? 1 : 0;
    classes[index].has_gaps = true;
    for (void** entry = classes[index].bottom(); has_finished && entry < load_top(class_top) - left; ++entry) {
      if (__atomic_load_n(entry, __ATOMIC_RELAXED) == nullptr) continue;
      void* const block = __atomic_exchange_n(entry, nullptr, __ATOMIC_ACQ_REL);
      group[count++] = {entry, block, &class_top, left};
      if (count == max_group) has_finished = settle_group();
    }
  }
  return settle_group() && has_finished;
}

}  // namespace tarn::heaps
