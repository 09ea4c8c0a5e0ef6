// A heap: the slabs and magazines of one owner.
//
//   front      top[class] → magazine          owner, inline (tarn/detail)
//   depot      full magazines by class        owner
//   slabs      by class, those with free blocks
//   outbox     blocks of other heaps that this heap's thread freed
//   inbox      blocks of this heap that other threads freed
//
// Invariant: each block of each slab of the heap is in exactly one place: with
// the program, in a magazine (front or depot), in a parcel (some outbox or the
// inbox), or free in its slab.
//
// Only the owner (the thread whose heap it is, or who set `state` to tending) touches
// anything but the inbox, the atomics, and large blocks, which the space guards.
// Links: the registry's list of heaps without owner.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <tarn/statistics.hpp>

#include "base/list.hpp"
#include "heap/inbox.hpp"
#include "heap/magazine.hpp"
#include "pages/space.hpp"

namespace tarn::heaps {

/// A count that one thread writes and any reads: no read-modify-write needed.
class owner_counter {
 public:
  constexpr owner_counter() noexcept = default;
  owner_counter& operator=(const owner_counter& other) noexcept {
    count_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }
  void add(std::uint64_t by) noexcept {
    count_.store(count_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t by) noexcept { add(~by + 1); }
  std::uint64_t get() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

/// The last few blocks that realloc had to move to make them larger. Addresses only:
/// an entry may be stale, and then costs a little memory at worst. Relaxed atomics,
/// because a shared heap has it too.
class recent_blocks {
 public:
  bool contains(const void* block) const noexcept {
    for (const auto& each : blocks_) {
      if (each.load(std::memory_order_relaxed) == block) {
        return true;
      }
    }
    return false;
  }
  void insert(const void* block) noexcept {
    for (std::size_t at = count - 1; at != 0; --at) {
      blocks_[at].store(blocks_[at - 1].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    blocks_[0].store(block, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t count = 4;
  std::atomic<const void*> blocks_[count] = {};
};

/// A heap with less in use is not worth a look at how much of it is still needed.
inline constexpr std::uint64_t least_shrunk_bytes = std::uint64_t{32} << 20;

/// A set of size classes, walked in ascending order.
class class_set {
 public:
  void insert(size_class index) noexcept { words_[index / 64] |= std::uint64_t{1} << (index % 64); }
  void clear() noexcept { words_[0] = words_[1] = 0; }
  bool contains(size_class index) const noexcept { return (words_[index / 64] >> (index % 64) & 1) != 0; }

  template <class Each>
  void for_each(Each each) const noexcept {
    for (size_class word = 0; word < 2; ++word) {
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1) {
        each(word * 64 + static_cast<size_class>(std::countr_zero(left)));
      }
    }
  }

 private:
  std::uint64_t words_[2] = {};
};
static_assert(detail::class_count <= 128);

/// What may wait in an inbox until it is set aside. Doubled when the owner comes after all.
inline constexpr std::uint64_t first_most_sent_bytes = std::uint64_t{TARN_SMALL ? 32 : 2048} << 10;
inline constexpr std::uint64_t last_most_sent_bytes = std::uint64_t{256} << 20;

/// The slow side of one size class.
struct class_state {
  magazine* front = nullptr;    ///< the array that `top` points into; null: none yet
  void** closed_top = nullptr;  ///< `top` of a closed heap, whose visible one stays shut
  depot behind;
  base::list<pages::slab> available;  ///< slabs with free blocks
  void* const* seen_top = nullptr;    ///< at the last decay: equal now means unused since
  std::uint8_t fills = 0;             ///< of the front from slabs lately, counted up to fills_to_full
  owner_counter allocated, freed;     ///< calls; kept by counting heaps only
};

enum class ownership : std::uint32_t {
  owned,    ///< by a thread, or by a heap object
  idle,     ///< the thread has ended; waits to be adopted
  tending,  ///< idle, and some thread acts for it for a moment
  frozen,   ///< the owner was lost in a fork; frees are accepted, nothing else
};

struct site_table;

struct heap : detail::heap_front, base::list_links<heap> {
  // -- owner ---------------------------------------------------------------
  class_state classes[detail::class_count];
  class_set used;  ///< those with a magazine or a slab, now or before
  pages::space* space;
  magazine_stock stock;
  outbox out;
  recent_blocks grown;
  std::size_t depot_arrays = 0;  ///< batches in all depots
  std::uint32_t slow_calls = 0;
  std::uint64_t most_in_use = 0;                   ///< bytes, since the last shrink
  std::uint64_t shrunk_from = 0;                   ///< most_in_use before that
  std::uint64_t shrink_from = least_shrunk_bytes;  ///< least most_in_use to shrink at
  std::uint64_t next_decay_ms = 0;
  bool closed = false;                ///< every call takes the slow path
  bool shared = false;                ///< closed, and used by many threads under `mutex`
  bool exact = false;                 ///< closed, and without magazines: each free is checked by its slab
  std::atomic<bool> counting{false};  ///< closed, and calls are counted
  site_table* sites = nullptr;        ///< closed, and allocations are noted: thread/sites.hpp
  std::size_t eager_bytes = 0;        ///< kept by release()
  char name[24] = {};

  // -- read by all, seldom written -----------------------------------------
  alignas(64) bool strict = false;  ///< no other thread may free its blocks
  bool prompt = false;              ///< its blocks that others free are sent one by one
  std::atomic<ownership> state{ownership::owned};
  std::atomic<std::uint32_t> generation{0};  ///< of release(): older parcels are void
  std::atomic<std::uint32_t> owner_thread{0};
  std::uint32_t number;
  heap* next_heap = nullptr;  ///< registry: all heaps there ever were

  // -- written by the owner, read by all -----------------------------------
  alignas(64) owner_counter remote_frees, slabs, slab_bytes, refills, flushes;
  owner_counter taken_bytes;                                   ///< of blocks that are not free in their slabs
  owner_counter depot_bytes;                                   ///< of those, the ones in depots
  std::atomic<std::uint64_t> large_blocks{0}, large_bytes{0};  ///< now
  std::atomic<std::uint64_t> large_allocated{0}, large_allocated_bytes{0};
  std::atomic<std::uint64_t> peak_bytes{0};
  std::atomic<std::uint64_t> run_bytes{0};       ///< of large_bytes, what lies in segments
  std::atomic<std::uint64_t> run_peak_bytes{0};  ///< most of slab_bytes + run_bytes: what `initial` could have held

  // -- written by all ------------------------------------------------------
  alignas(64) inbox in;
  inbox aside;                                                        ///< parcels that waited long: heap/set_aside.cpp
  std::atomic<std::uint64_t> sent_bytes{0};                           ///< in the inbox, about
  std::atomic<std::uint64_t> most_sent_bytes{first_most_sent_bytes};  ///< then they are set aside
  platform::mutex mutex{platform::lock_rank::heap};                   ///< of a shared heap

  heap(pages::space& from, std::uint32_t number_) noexcept;

  /// Shuts the visible magazines, so that each call comes here. Before any use.
  void close() noexcept;

  // Small blocks, owner only.
  void* allocate(size_class index) noexcept;                ///< null: no memory
  void deallocate(void* block, size_class index) noexcept;  ///< a block of this heap

  // Large blocks: allocated by the owner, else by any thread.
  void* allocate_large(std::size_t bytes, std::size_t alignment, bool* zeroed) noexcept;
  void deallocate_large(pages::slab* block) noexcept;
  [[nodiscard]] bool resize_large(pages::slab* block, std::size_t bytes) noexcept;

  /// The calling thread owns *this and frees a block of another heap.
  void deallocate_remote(void* block, std::uintptr_t key) noexcept;
  /// Sends what the outbox holds. Owner.
  void send_all() noexcept;
  /// Takes in what the inbox holds. Owner.
  void collect() noexcept;

  /// Before an allocation fails: all that is free goes where it can serve. Owner.
  void reclaim() noexcept;
  /// All magazines into the slabs, empty slabs back to the space. Owner.
  void flush_all() noexcept;
  /// flush_all, and the whole inbox and outbox: after this a valid idle heap holds
  /// only slabs in which the program has blocks. Owner; then nobody is.
  void retire() noexcept;
  /// If the heap is idle, takes in its inbox for it. Any thread.
  void tend() noexcept;
  /// Gives up all blocks at once. Owner of a heap with a space of its own.
  void release() noexcept;
  /// Undoes everything but the inbox and the generation, so that the record can serve
  /// another owner. After release.
  void reset() noexcept;

  std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  heap_statistics statistics() const noexcept;
  bool is_valid() noexcept;

 private:
  void**& top_of(size_class index) noexcept { return closed ? classes[index].closed_top : top[index]; }
  bool refill(size_class index) noexcept;
  void* take_exactly(size_class index) noexcept;
  bool fill_from_slabs(size_class index) noexcept;
  pages::slab* new_slab(size_class index) noexcept;
  pages::slab* adopt_slab(size_class index) noexcept;
  void lose(pages::slab* gone, bool empty) noexcept;
  void note_peak() noexcept;
  void spill(size_class index) noexcept;
  bool set_front(size_class index) noexcept;
  void give_to_slab(void* block, size_class index, bool keep_one) noexcept;
  void give_to_slabs(void** blocks, std::size_t count, size_class index) noexcept;
  void collect_into_slabs() noexcept;
  template <class Own, class Moved>
  void take_in(Own own, Moved moved) noexcept;
  void start_parcel(outbox::place& place, heap& owner, void* block, std::uintptr_t key) noexcept;
  void send(outbox::place& from) noexcept;
  void set_aside(magazine_stock& spare) noexcept;
  parcel* take_set_aside() noexcept;
  bool anything_sent() const noexcept { return !in.empty() || !aside.empty(); }
  void tend_if_idle() noexcept {
    // seq_cst: see retire().
    if (state.load(std::memory_order_seq_cst) == ownership::idle) {
      tend();
    }
  }
  void drop_front(size_class index) noexcept;
  static void bounce(void* block, std::uintptr_t key) noexcept;
  void tick() noexcept;
  bool decay() noexcept;
  void shrink() noexcept;
  void note_growth() noexcept;
  void empty_depots() noexcept;
};

/// The entries that a shut magazine shows: null below its end, and full there.
extern constinit magazine shut;
inline void** shut_top() noexcept { return shut.slots + magazine_slots; }

/// What detail::local points to before a thread has a heap: all magazines shut.
struct nobody_front : detail::heap_front {
  consteval nobody_front() noexcept : heap_front{} {
    for (void**& each : top) {
      each = shut.slots + magazine_slots;
    }
  }
};
extern constinit nobody_front nobody;

}  // namespace tarn::heaps
