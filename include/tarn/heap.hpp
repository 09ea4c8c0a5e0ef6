// Heaps as objects: memory that one thread uses without locks, with a limit, a
// name, and an end.
#pragma once

#include <cstddef>
#include <memory_resource>

#include <tarn/detail/fast_path.hpp>
#include <tarn/statistics.hpp>

namespace tarn {

/// How a heap starts and how far it may go. Sizes in bytes, rounded up to 64 KiB.
struct heap_options {
  const char* name = "";      ///< for statistics and messages; the first 23 bytes are kept
  std::size_t initial = 0;    ///< mapped and touched at once: no page fault before it is used up
  std::size_t increment = 0;  ///< mapped at once when more is needed; 0: 4 MiB
  std::size_t limit = 0;      ///< of memory in use at one time; 0: none
  bool strict = false;        ///< a free by another thread is a fault that names both threads
  bool statistics = false;    ///< counts each call, at the price of the inline path
  bool sites = false;         ///< notes where each block was allocated; what is in use at the end is reported. Slower
};

/// A heap of its own: what is allocated from it comes from its own segments, and
/// all of it can go at once.
///
/// In the child of a fork, only heap objects that the forking thread was using may be
/// used. Threads: one thread at a time allocates from a heap and calls its other
/// functions. Any thread may free its blocks, by whatever way it frees: through
/// tarn::current(), pooled<T>, allocator<T>, tarn_free, except where `strict` forbids.
/// Cost: allocate and deallocate are inline and take 1 to 2 ns.
class heap : public std::pmr::memory_resource {
 public:
  heap() : heap(heap_options{}) {}
  /// Throws std::bad_alloc when there is no memory for `initial`.
  explicit heap(const heap_options& options);
  /// Releases everything and gives it back to the system. Must not be current().
  ~heap() override;
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  /// At least `bytes` bytes at a multiple of `alignment`, a power of two. Never null;
  /// throws std::bad_alloc at the limit or without memory.
  [[nodiscard, gnu::always_inline]] void* allocate(std::size_t bytes, std::size_t alignment = detail::block_alignment) {
    void* const block = try_allocate(bytes, alignment);
    if (block == nullptr) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    return block;
  }
  /// As allocate, but null instead of an exception.
  [[nodiscard, gnu::always_inline]] void* try_allocate(std::size_t bytes,
                                                       std::size_t alignment = detail::block_alignment) noexcept {
    return detail::allocate(front_, bytes, alignment);
  }

  /// Gives back a block of any heap. The sizes must be those it was allocated with.
  [[gnu::always_inline]] void deallocate(void* block, std::size_t bytes,
                                         std::size_t alignment = detail::block_alignment) noexcept {
    detail::deallocate(front_, block, bytes, alignment);
  }
  /// The same without the sizes; they are looked up.
  [[gnu::always_inline]] void deallocate(void* block) noexcept { detail::deallocate(front_, block); }

  /// Frees every block at once, without looking at any. `initial` bytes (or else the
  /// first 4 MiB) stay ready for use, the rest goes back to the system. Blocks that
  /// other threads still hold are gone, too.
  /// Only for heaps made by a constructor: the heaps of threads ignore it.
  void release() noexcept;

  heap_statistics statistics() const noexcept;
  const char* name() const noexcept;

  /// Whether the heap's inner structures agree with each other. Slow; for tests.
  bool is_valid() const noexcept;

 private:
  friend class scoped_current;
  friend struct heap_access;
  struct face {};  ///< tag: the public side of a heap that exists already
  heap(face, detail::heap_front* front) noexcept : front_(front) {}

  // Not inline: a virtual call reaches one copy of each, made for sizes that are known at run time only.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  detail::heap_front* front_;
};

/// The process-wide heap, for what belongs to no thread. Any thread; takes a lock.
heap& global();

namespace detail {
heap& current_slow();
}

/// The calling thread's heap, or the one that a scoped_current put in its place.
/// Valid until the thread ends; only for this thread.
inline heap& current() {
  // Acquire: owner_of in another thread may just have made it.
  heap* const known = __atomic_load_n(&detail::local->resource, __ATOMIC_ACQUIRE);
  return known != nullptr ? *known : detail::current_slow();
}

/// Makes `wanted` the calling thread's current heap for a scope: all that asks for
/// current(), directly or through pooled<T>, allocator<T> or the C API, lands there.
class scoped_current {
 public:
  explicit scoped_current(heap& wanted) noexcept : before_(detail::local) { detail::local = wanted.front_; }
  ~scoped_current() { detail::local = before_; }
  scoped_current(const scoped_current&) = delete;
  scoped_current& operator=(const scoped_current&) = delete;

 private:
  detail::heap_front* before_;
};

/// The heap to which a block belongs; null for memory that is none of Tarn's. Any
/// thread that may use the block.
heap* owner_of(const void* block);

}  // namespace tarn
