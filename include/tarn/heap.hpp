// Heaps as objects: memory with a name and a limit, which one thread uses without locks and can free all at once.
// In these headers a fault is a mistake of the caller that ends the program with a line that names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include <tarn/detail/fast_path.hpp>
#include <tarn/statistics.hpp>

namespace tarn {

/// Configures a heap. Sizes are in bytes. `initial` and `increment` are rounded up to 64 KiB, and an `increment` below
/// 1 MiB is 1 MiB. An `initial` above the `limit` counts as the limit.
struct heap_options {
  const char* name = "";      ///< for statistics and messages; the first 23 bytes are kept
  std::size_t initial = 0;    ///< mapped and touched at creation, so that its use causes no page fault
  std::size_t increment = 0;  ///< mapped in one step when more is needed; 0: 4 MiB
  std::size_t limit = 0;      ///< most bytes in slabs and large blocks at one time; 0: no limit
  bool keeps_memory = false;  ///< freed memory stays with the heap until release(), trim() or the heap's end
  /// A free by another thread than the one that made the heap is a fault that names both threads. A thread that got the
  /// heap from that one frees through the heap, or makes it current first.
  bool forbids_remote_frees = false;
  bool counts_calls = false;   ///< counts each call; calls then do not take the inline path
  bool records_sites = false;  ///< records where each block was allocated and reports what is in use at the end. Slower
};

/// A heap with segments of its own, whose blocks can all be freed at once. Freed memory goes back to the system after
/// the time that the option TARN_PURGE_DELAY_MS sets, as it does for the heaps of threads; once half of the memory in
/// use is freed, most goes at once.
///
/// In the child of a fork, only heap objects that the forking thread was using may be used. Threads: one thread at a
/// time allocates from a heap and calls its other functions, except for statistics() and name(). Any thread may free
/// its blocks, through any function that frees: tarn::current_heap().deallocate(), pooled<T>, allocator<T> or tarn_free
/// of <tarn/tarn.h>, unless the heap `forbids_remote_frees`. Errors: allocate throws std::bad_alloc, try_allocate
/// returns null; freeing memory that is not Tarn's is a fault. Cost: allocate and deallocate are inline, and take about
/// a nanosecond together.
class heap : public std::pmr::memory_resource {
 public:
  heap() : heap(heap_options{}) {}
  /// Throws std::bad_alloc when there is no memory for `initial`.
  explicit heap(const heap_options& options);
  /// Releases everything and gives it back to the system, except for about 6 KiB of records, which serve the next heap
  /// objects of the process. The heap must not be current_heap(): a scoped_current_heap that ends after its heap, or
  /// would make an ended heap current again, is a fault.
  ~heap() override;
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  /// Returns at least `bytes` bytes at a multiple of `alignment`, a power of two. Never returns null; throws
  /// std::bad_alloc at the limit or without memory.
  [[nodiscard, gnu::always_inline]] void* allocate(std::size_t bytes, std::size_t alignment = detail::block_alignment) {
    void* const block = try_allocate(bytes, alignment);
    if (block == nullptr) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    return block;
  }
  /// Does the same, but returns null instead of throwing.
  [[nodiscard, gnu::always_inline]] void* try_allocate(std::size_t bytes,
                                                       std::size_t alignment = detail::block_alignment) noexcept {
    return detail::allocate(front_, bytes, alignment);
  }

  /// Frees a block of any heap. The sizes must be those that it was allocated with.
  [[gnu::always_inline]] void deallocate(void* block, std::size_t bytes,
                                         std::size_t alignment = detail::block_alignment) noexcept {
    detail::deallocate(front_, block, bytes, alignment);
  }
  /// Does the same without the sizes, which it looks up.
  [[gnu::always_inline]] void deallocate(void* block) noexcept { detail::deallocate(front_, block); }

  /// Frees every block at once, without visiting any. `initial` bytes (or else the first 4 MiB) stay ready for use;
  /// the rest goes back to the system. Blocks that other threads still hold are freed, too, so only the heap's thread
  /// may call it, when no other thread uses a block. Works only for heaps made by a constructor: the heaps of threads
  /// ignore it. Cost: a few calls, whatever the heap holds, and a system call for each range that goes back.
  void release() noexcept;

  /// Gives all free memory of the heap back to the system now, including `initial` memory and the memory of a heap
  /// with `keeps_memory`. Returns the number of bytes given back. Only the heap's thread may call it. For a thread's
  /// heap and for process_heap(), it trims the memory that all threads' heaps share. Cost: a system call for every free
  /// range.
  std::size_t trim() noexcept;

  /// Returns a copy of the counters. Any thread may call it; numbers of a working thread may be a little old.
  heap_statistics statistics() const noexcept;
  /// Returns the name from the options.
  const char* name() const noexcept;

  /// Returns true when the heap's internal structures agree with each other. It visits all of them and is for tests;
  /// only the heap's thread may call it.
  bool is_valid() const noexcept;

 private:
  friend class scoped_current_heap;
  friend struct heap_access;
  struct face {};  ///< tag: the public side of a heap that exists already
  heap(face, detail::heap_front* front) noexcept : front_(front) {}

  // These are not inline: a virtual call reaches one copy of each, compiled for sizes that are known only at run
  // time.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& resource) const noexcept override { return this == &resource; }

  detail::heap_front* front_;
};

/// Returns the process-wide heap, for data that belongs to no thread. Any thread may call this and use the heap. Throws
/// std::bad_alloc if there was no memory for the heap. Cost: a call here; each call of the heap takes a lock.
heap& process_heap();

namespace detail {
heap& current_slow();
/// Ends the program: a scope ends whose heap, or the heap that was current before it, has ended already.
[[noreturn, gnu::cold]] void report_ended_current(bool is_own_heap) noexcept;
}  // namespace detail

/// Returns the calling thread's heap, or the heap that a scoped_current_heap put in its place. It is valid until the
/// thread or that scoped_current_heap ends, and only for this thread. Throws std::bad_alloc if there is no memory for
/// the thread's heap. Cost: two loads; the first call of a thread makes its heap. Its symbol is hidden, because another
/// library with Tarn inside has its own heaps.
[[gnu::visibility("hidden")]] inline heap& current_heap() {
  // acquire: owner_of() in another thread may just have made it.
  heap* const current = __atomic_load_n(&detail::local_heap->resource, __ATOMIC_ACQUIRE);
  return current != nullptr ? *current : detail::current_slow();
}

/// Makes `target` the calling thread's current heap for a scope: everything that uses current_heap(), directly or
/// through pooled<T>, allocator<T> or the C API, then allocates from it. Threads: only the thread that may use
/// `target`; scopes of a thread end in the reverse order. Errors: the end of a scope is a fault if its heap, or the one
/// that was current before, has ended by then. Cost: a few loads and stores.
class scoped_current_heap {
 public:
  /// Makes `target` current until this object ends.
  explicit scoped_current_heap(heap& target) noexcept : before_(detail::local_heap), target_(target.front_) {
    detail::local_heap = target.front_;
  }
  ~scoped_current_heap() {
    if (before_.has_ended() || target_.has_ended()) [[unlikely]] {
      detail::report_ended_current(target_.has_ended());
    }
    detail::local_heap = before_.front;
  }
  scoped_current_heap(const scoped_current_heap&) = delete;
  scoped_current_heap& operator=(const scoped_current_heap&) = delete;

 private:
  /// Knows whether a heap has ended: the records of heaps stay when these end.
  struct watched {
    explicit watched(detail::heap_front* front_) noexcept : front(front_), ends(count()) {}
    // Relaxed: another thread that ends the heap must do so before this scope ends anyway.
    std::uint32_t count() const noexcept { return __atomic_load_n(&front->ends, __ATOMIC_RELAXED); }
    bool has_ended() const noexcept { return count() != ends; }

    detail::heap_front* front;
    std::uint32_t ends;
  };
  watched before_, target_;
};

/// Returns the heap that owns a block; null for memory that is not Tarn's. Any thread that may use the block may call
/// it. Throws std::bad_alloc if there is no memory for the object that is returned. Cost: a few nanoseconds; beyond the
/// first 64 KiB of a large block, and for foreign memory, up to tens of microseconds.
heap* owner_of(const void* block);

}  // namespace tarn
