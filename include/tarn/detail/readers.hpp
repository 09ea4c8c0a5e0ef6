// Readers of versions: how a thread announces the version that it reads, without a write that another thread waits
// for. Versions are the values of a reloadable, or the generations of a memo, whose nodes a reader may reach.
//
// This is a hazard pointer (M. Michael, 2004) without its fence. The reader stores the version that it is about to
// use in its own slot, then checks that it is still the current one. The writer replaces the current version, runs a
// memory barrier in all threads (membarrier(2)), then reads all slots. This interleaving must not happen:
//   1 reader: current is A             2 writer: current = B
//   3 writer: no slot names A          4 reader: my slot = A, still invisible to the writer
//   5 reader: current is still A       6 writer: A is freed      7 reader: uses A
// The barrier is between 2 and 3, and also runs in the reader's thread. If 4 came before it, 3 sees A. If 4 comes
// after it, 5, which comes after 4, sees B, and the reader starts over. Within the reader's thread only the compiler
// must keep the order of 4 and 5, so no fence is needed. tests/models/reclaim.pml searches all interleavings.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <tarn/detail/config.hpp>

namespace tarn::detail {

/// The base of each version. It is written before publication, except for the last four members, which the writers
/// use.
struct version_base {
  std::uint64_t number = 0;  ///< 1 for the first one
  void (*destroy)(version_base*) noexcept = nullptr;
  version_base* next = nullptr;  ///< in the retired list: the version retired before
  std::uint64_t retired_ms = 0;
  bool is_read = false;       ///< result of the last check: a thread reads it
  bool is_inherited = false;  ///< result of the last check: a slot that the process inherited by fork names it
};
using current_version = std::atomic<version_base*>;

/// A reader's slot: it names the version that it reads; null: none. Its thread writes it; any thread may empty it.
using reader_slot = std::atomic<const version_base*>;
inline constexpr std::size_t slots_per_thread = TARN_SMALL ? 2 : 16;

/// The slots of one thread, with a number that no other living thread's slots have.
struct alignas(64) reader_slots {
  reader_slot slots[slots_per_thread] = {};
  std::uint32_t index = UINT32_MAX;
};

/// The calling thread's slots. At first they are shared dummy slots that are never empty, so that one test serves
/// both cases. They are constant-initialised and trivially destructible, so that a read costs one load at any time in
/// a thread's life.
extern constinit thread_local reader_slots* own_slots [[gnu::tls_model("initial-exec")]];

struct pinned_version {
  const version_base* version;
  reader_slot* slot;
};

/// Throws std::bad_alloc when there is no memory for the first slot of a thread, or for its 17th.
pinned_version pin_slow(const current_version& current);
/// Repeats while the current version is replaced between two reads of it.
pinned_version pin_again(reader_slot& slot, const current_version& current) noexcept;

/// Names the current version in an empty slot.
[[gnu::always_inline]] inline pinned_version pin_at(reader_slot& slot, const current_version& current) noexcept {
  const version_base* const version = current.load(std::memory_order_relaxed);
  // release: a thread that finds this value has seen the end of earlier reads through this slot.
  slot.store(version, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // acquire: the data that the writer put into the version is visible from here on.
  if (current.load(std::memory_order_acquire) != version) [[unlikely]] {
    return pin_again(slot, current);
  }
  return {version, &slot};
}

/// Pins the current version, which then lives until it is unpinned. Tries the first slot of the thread here; pin_slow
/// tries the others.
[[gnu::always_inline]] inline pinned_version pin(const current_version& current) {
  reader_slot& first = own_slots->slots[0];
  if (first.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    return pin_slow(current);
  }
  return pin_at(first, current);
}

/// Ends the read. Any thread may call it.
[[gnu::always_inline]] inline void unpin(reader_slot* slot) noexcept {
  // release: the writer that finds the slot empty has seen the end of this read.
  slot->store(nullptr, std::memory_order_release);
}

/// Returns the calling thread's slots if it reads nothing through the first one, and needs no fence; else null.
[[gnu::always_inline]] inline reader_slots* idle_slots() noexcept {
  reader_slots* const thread_slots = own_slots;
  return thread_slots->slots[0].load(std::memory_order_relaxed) == nullptr ? thread_slots : nullptr;
}

/// Keeps a version pinned while it lives.
class read_section {
 public:
  /// Pins the current version. Throws what pin() throws.
  explicit read_section(const current_version& current) : slot_(pin(current).slot) {}
  /// Does the same in fewer instructions for a thread of idle_slots(), but pins nothing when the version is replaced
  /// at this moment: ask is_pinned().
  [[gnu::always_inline]] read_section(reader_slots& idle, const current_version& current) noexcept
      : slot_(&idle.slots[0]) {
    // The orders are those of pin_at.
    const version_base* const version = current.load(std::memory_order_relaxed);
    slot_->store(version, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_pinned_ = current.load(std::memory_order_acquire) == version;
  }
  read_section(const read_section&) = delete;
  read_section& operator=(const read_section&) = delete;
  [[gnu::always_inline]] ~read_section() { unpin(slot_); }

  bool is_pinned() const noexcept { return is_pinned_; }

 private:
  reader_slot* slot_;
  bool is_pinned_ = true;
};

}  // namespace tarn::detail
