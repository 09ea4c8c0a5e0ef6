// Remote frees: blocks travel from the thread that frees them to the heap that
// owns them in parcels, one atomic operation for many blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/magazine.hpp"

namespace tarn::heaps {

struct heap;

/// Blocks of one owner on their way. Lives in the memory of a magazine.
struct parcel {
  static constexpr std::size_t capacity = magazine_slots - 2;

  parcel* next;
  std::uint32_t count;
  std::uint32_t generation;  ///< of the owner when the first block was freed
  void* blocks[capacity];
};
static_assert(sizeof(parcel) == sizeof(magazine));

/// Where the parcels for one heap arrive: a stack that any thread pushes to and
/// only one empties, whole. No parcel is ever popped alone, so there is no ABA.
class inbox {
 public:
  /// Any thread.
  void post(parcel* sent) noexcept {
    parcel* head = head_.load(std::memory_order_relaxed);
    do {
      sent->next = head;
      // seq_cst: release, so that the blocks' last writes and the parcel's contents are
      // seen by take_all; and ordered with the sender's look at the owner's state, see
      // heap::retire.
    } while (!head_.compare_exchange_weak(head, sent, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  /// Whoever may act for the heap.
  parcel* take_all() noexcept {
    // acquire: pairs with post.
    return head_.exchange(nullptr, std::memory_order_acquire);
  }

  /// A hint while others post; seq_cst for heap::retire.
  bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  std::atomic<parcel*> head_{nullptr};
};

/// The parcels that one heap's thread is filling for others. A few owners at a
/// time; another owner on the same place sends what is there.
class outbox {
 public:
  struct place {
    heap* owner = nullptr;
    parcel* filling = nullptr;
    std::size_t bytes = 0;
  };

  /// Heaps are numbered one after the other, so that few owners do not meet.
  place& place_for(std::uint32_t owner_number) noexcept { return places_[owner_number % places]; }
  place* begin() noexcept { return places_; }
  place* end() noexcept { return places_ + places; }

 private:
  static constexpr std::size_t places = 32;
  place places_[places];
};

/// A parcel is sent when it is full or holds this many bytes: what waits with a
/// thread that has stopped freeing stays small.
inline constexpr std::size_t parcel_bytes_limit = std::size_t{64} << 10;

}  // namespace tarn::heaps
