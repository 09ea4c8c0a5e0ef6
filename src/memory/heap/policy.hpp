// The traits of a heap, which decide how it serves its calls.
#pragma once

#include <atomic>
#include <cstdint>

namespace tarn::heaps {

/// A trait of a heap: one difference from the inline paths.
enum class heap_trait : std::uint8_t {
  shared = 1,                 ///< many threads use it, under `heap::mutex`
  exact = 2,                  ///< it has no magazines: the slab checks each free
  counting = 4,               ///< it counts every call
  noting_sites = 8,           ///< it notes every caller
  guarded = 16,               ///< the guard wraps every block (memory/guard/guard.hpp)
  forbids_remote_frees = 32,  ///< only the owner may free its blocks
  hardened = 64,              ///< free blocks are zero, and each call checks its block (memory/drop_in/hardening.hpp)
  guarded_object = 128,       ///< a heap object whose blocks are guarded (memory/thread/guarded_heap.hpp)
};

/// The traits of one heap. The owner sets them before the first use; any thread reads them.
class heap_policy {
 public:
  bool is_shared() const noexcept { return has(bit(heap_trait::shared)); }
  bool is_exact() const noexcept { return has(bit(heap_trait::exact)); }
  bool is_counting() const noexcept { return has(bit(heap_trait::counting)); }
  bool forbids_remote_frees() const noexcept { return has(bit(heap_trait::forbids_remote_frees)); }
  bool is_hardened() const noexcept { return has(bit(heap_trait::hardened)); }
  bool is_guarded_object() const noexcept { return has(bit(heap_trait::guarded_object)); }
  bool is_only_hardened() const noexcept { return traits() == bit(heap_trait::hardened); }

  /// Returns true if the visible magazines stay shut, so that every call takes the slow path. Every trait has this
  /// effect but `forbids_remote_frees`, which only concerns other threads.
  bool is_closed() const noexcept { return has(static_cast<std::uint8_t>(~bit(heap_trait::forbids_remote_frees))); }

  void add(heap_trait added) noexcept { set(static_cast<std::uint8_t>(traits() | bit(added))); }
  void remove(heap_trait removed) noexcept { set(static_cast<std::uint8_t>(traits() & ~bit(removed))); }
  void clear() noexcept { set(0); }

 private:
  static constexpr std::uint8_t bit(heap_trait trait) noexcept { return static_cast<std::uint8_t>(trait); }
  // relaxed: a thread that holds a block of the heap got it after the traits were set.
  std::uint8_t traits() const noexcept { return traits_.load(std::memory_order_relaxed); }
  bool has(std::uint8_t mask) const noexcept { return (traits() & mask) != 0; }
  void set(std::uint8_t traits) noexcept { traits_.store(traits, std::memory_order_relaxed); }

  std::atomic<std::uint8_t> traits_{0};
};

}  // namespace tarn::heaps
