// Lists all heaps of the process, and those without an owner.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/heap/heap.hpp"

namespace tarn::heaps {

/// Returns the space that all threads' heaps share.
pages::space& central() noexcept;

class registry {
 public:
  /// Returns a heap for a thread: one whose thread has ended, or a new one over central(). Its state is owned. Returns
  /// null without memory. Any thread may call it.
  static heap* acquire() noexcept;
  /// Takes back a heap that heap::retire has emptied.
  static void give_idle(heap* retired) noexcept;

  /// Returns a heap over `space`, for a heap object. Returns null without memory.
  static heap* create(pages::space& space, const char* name) noexcept;
  /// Takes back an empty heap that create() made. Its memory stays a heap forever.
  static void destroy(heap* empty) noexcept;

  static bool any_idle() noexcept { return idle_count_.load(std::memory_order_relaxed) != 0; }

  /// Returns about how many bytes the records of heaps without a thread could give back.
  static std::size_t idle_record_bytes() noexcept { return idle_record_bytes_.load(std::memory_order_relaxed); }
  /// Adds to that sum. The caller owns a heap that is about to be idle, is idle, or has been adopted.
  static void note_idle_record(std::ptrdiff_t change) noexcept {
    idle_record_bytes_.fetch_add(static_cast<std::size_t>(change), std::memory_order_relaxed);
  }

  /// One search for a slab checks at most this many idle heaps.
  static constexpr int max_inspected = 8;
  /// Returns an idle heap whose state it has set to tending. The heap is the caller's, without the lock, until the
  /// caller sets the state back. The next call returns another heap. Returns null if it found none.
  static heap* tend_next_idle() noexcept;
  /// Calls `visit(heap&)` for all heaps ever made. They are never freed.
  template <class Visit>
  static void for_all(Visit visit) noexcept {
    for (heap* entry = heaps_.load(std::memory_order_acquire); entry != nullptr; entry = entry->next_heap) {
      visit(*entry);
    }
  }

  /// Returns how many heaps were ever made. It only grows, and other threads may see it late.
  static std::size_t heap_count() noexcept { return heap_count_.load(std::memory_order_relaxed); }

  struct counts {
    std::uint64_t heaps, started, abandoned, adopted;
  };
  static counts count() noexcept;
  /// Returns the sum of the statistics of destroyed heap objects.
  static heap_statistics ended_statistics() noexcept;
  /// Returns the frees of all threads that wait. Any thread may call it.
  static waiting_frees waiting() noexcept {
    waiting_frees sum;
    for_all([&sum](const heap& member) { sum += member.waiting(); });
    return sum.at_least_zero();
  }
  /// Runs in a forked child: heap objects whose owner was `old_thread` in the parent belong to `new_thread` here.
  static void renumber_objects(std::uint32_t old_thread, std::uint32_t new_thread) noexcept;

  /// Returns the list head that tarn_watch_root points to.
  static constexpr const std::atomic<heap*>* heap_list() noexcept { return &heaps_; }

  /// Returns the lock, which is held around a fork.
  static platform::mutex& lock() noexcept { return mutex_; }

 private:
  /// The most records of ended heap objects that keep all of their pages.
  static constexpr std::size_t max_whole_spares = 16;

  static heap* take_idle() noexcept;
  static heap* make(pages::space& space) noexcept;

  static platform::mutex mutex_;
  static std::atomic<heap*> heaps_;
  static std::atomic<heap*> objects_;  ///< the heaps of heaps_ that create() made
  static base::list<heap> idle_;
  static base::list<heap> spare_;
  static std::size_t spare_count_;
  static heap_statistics ended_statistics_;
  static std::atomic<std::uint32_t> idle_count_;
  static std::atomic<std::size_t> idle_record_bytes_;
  static std::atomic<std::uint32_t> heap_count_;
  static counts counts_;
};

}  // namespace tarn::heaps
