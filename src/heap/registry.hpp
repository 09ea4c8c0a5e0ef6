// All heaps of the process, and those that wait for an owner.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/heap.hpp"

namespace tarn::heaps {

/// The space that all threads' heaps share.
pages::space& central() noexcept;

class registry {
 public:
  /// A heap for a thread: one whose thread has ended, or a new one over central().
  /// Its state is owned. Null when there is no memory. Any thread.
  static heap* acquire() noexcept;
  /// Takes a retired heap (heap::retire) back.
  static void give_idle(heap* retired) noexcept;

  /// A heap with a space of its own, for a heap object. Null: no memory.
  static heap* create(pages::space& from, const char* name) noexcept;
  /// Takes back an empty one that create made. Its memory stays a heap for ever:
  /// late parcels may still arrive.
  static void destroy(heap* empty) noexcept;

  static bool any_idle() noexcept { return idle_count_.load(std::memory_order_relaxed) != 0; }

  /// Calls `each(heap&)` for idle heaps, a few at most, until it returns false. The
  /// next call goes on with others.
  template <class Each>
  static void for_idle(Each each) noexcept {
    const platform::locked hold(lock());
    const heap* const last = idle_.back();
    for (int left = most_looked_at; left != 0 && !idle_.empty(); --left) {
      heap* const at = idle_.front();
      idle_.remove(at);
      idle_.push_back(at);
      if (!each(*at) || at == last) {
        return;
      }
    }
  }
  /// Calls `each(heap&)` for all heaps there ever were. They are never freed.
  template <class Each>
  static void for_all(Each each) noexcept {
    for (heap* at = all_.load(std::memory_order_acquire); at != nullptr; at = at->next_heap) {
      each(*at);
    }
  }

  struct counts {
    std::uint64_t heaps, started, abandoned, adopted;
  };
  static counts count() noexcept;
  /// The figures of heap objects that are no more.
  static heap_statistics past() noexcept;
  /// In a forked child: what other threads were using is never used again. `mine` is
  /// the calling thread's own heap or null, `old_thread` its number in the parent.
  static void freeze_others(const heap* mine, std::uint32_t old_thread) noexcept;

  /// What tarn_watch_root points to.
  static constexpr const std::atomic<heap*>* watched() noexcept { return &all_; }

  /// Held around a fork.
  static platform::mutex& lock() noexcept { return mutex_; }

 private:
  static constexpr int most_looked_at = 8;
  static heap* make(pages::space& from) noexcept;

  static platform::mutex mutex_;
  static std::atomic<heap*> all_;
  static base::list<heap> idle_;
  static base::list<heap> spare_;
  static heap_statistics past_;
  static std::atomic<std::uint32_t> idle_count_;
  static counts counts_;
};

}  // namespace tarn::heaps
