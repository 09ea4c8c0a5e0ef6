// Readers of versions: how a thread says which version it reads, without a write that another thread waits for.
//
// A hazard pointer (M. Michael, 2004) without its fence. The reader stores the version that it is about to use in a
// place of its own, then looks whether it is still the current one. The writer replaces the current version, passes a
// memory barrier in all threads (membarrier(2)), then looks at all places. The interleaving that must not be:
//   1 reader: current is A             2 writer: current = B
//   3 writer: no place names A         4 reader: my place = A, still invisible to the writer
//   5 reader: current is still A       6 writer: A is freed      7 reader: uses A
// The barrier is between 2 and 3 and in the reader's thread, too. Was 4 before it: then 3 sees A. Is 4 after it: then
// 5, which comes after 4, sees B, and the reader starts over. Within the reader's thread only the compiler must keep
// the order of 4 and 5, so there is no fence to pay for. tests/models/reloadable.pml goes through all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tarn::detail {

/// What each version begins with. Written before it is published, but for the last three, which are the writers'.
struct version_base {
  std::uint64_t number = 0;  ///< 1 for the first one
  void (*destroy)(version_base*) noexcept = nullptr;
  version_base* next = nullptr;  ///< of the retired ones, the one retired before
  std::uint64_t retired_ms = 0;
  bool is_read = false;  ///< at the last look
};
using current_version = std::atomic<version_base*>;

/// Where a reader names the version that it reads; null: none. Written by its thread, emptied by any.
using reader_place = std::atomic<const version_base*>;
inline constexpr std::size_t places_per_thread = TARN_SMALL ? 2 : 16;

/// The calling thread's places; at first those of nobody, which are never empty, so that one test serves both.
/// Constant-initialised and trivially destructible, so that a read costs one load at any time in a thread's life.
extern constinit thread_local reader_place* own_places [[gnu::tls_model("initial-exec")]];

struct pinned_version {
  const version_base* version;
  reader_place* place;
};

/// Throws std::bad_alloc when there is no memory for the first place of a thread, or for its 17th.
pinned_version pin_slow(const current_version& current);
/// While the current version is replaced between two looks at it.
pinned_version pin_again(reader_place& place, const current_version& current) noexcept;

/// Names the current version in a place that is empty.
[[gnu::always_inline]] inline pinned_version pin_at(reader_place& place, const current_version& current) noexcept {
  const version_base* const seen = current.load(std::memory_order_relaxed);
  // release: who finds this value has seen the end of what was read from this place before.
  place.store(seen, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // acquire: what the writer put into the version is seen from here on.
  if (current.load(std::memory_order_acquire) != seen) [[unlikely]] {
    return pin_again(place, current);
  }
  return {seen, &place};
}

/// The current version, which lives until it is unpinned. The first place of the thread is tried here, the others in
/// pin_slow.
[[gnu::always_inline]] inline pinned_version pin(const current_version& current) {
  reader_place& first = own_places[0];
  if (first.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    return pin_slow(current);
  }
  return pin_at(first, current);
}

/// By any thread.
[[gnu::always_inline]] inline void unpin(reader_place* place) noexcept {
  // release: the writer that finds the place empty has seen the end of this read.
  place->store(nullptr, std::memory_order_release);
}

}  // namespace tarn::detail
