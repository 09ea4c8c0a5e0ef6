// A pool that any number of threads use without a lock: a thread that stops at any point outside the upstream blocks
// no other.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <tarn/detail/config.hpp>
#include <tarn/detail/fast_path.hpp>
#include <tarn/fixed_pool.hpp>

namespace tarn {
namespace detail {

/// A stack of free block numbers. Number and tag share one word. The tag counts pops, so that a thread that was
/// interrupted between reading the top and replacing it notices that the same block is no longer the same top (the
/// ABA problem; the remedy is that of IBM's System/370 manual, 1983). It would fail only if 2^32 pops passed
/// meanwhile.
struct alignas(128) free_stack {
  std::atomic<std::uint64_t> top{0};  ///< tag << 32 | number + 1; 0 in the lower half: empty
};

/// The memory of a lock-free pool. Chunk k has first << k blocks, so that a block's number determines its chunk.
class lock_free_store {
 public:
  static constexpr std::size_t max_chunks = 26;
  static constexpr std::size_t stacks = 8;

  lock_free_store(std::size_t block_bytes, std::size_t alignment, const pool_options& options) noexcept;
  ~lock_free_store();
  lock_free_store(const lock_free_store&) = delete;
  lock_free_store& operator=(const lock_free_store&) = delete;

  /// A chunk holds the blocks, followed by the links of their stacks. The links are not in the blocks, because a
  /// thread may read the link of a block that another thread has been given meanwhile.
  struct chunk {
    std::atomic<char*> begin{nullptr};
    std::atomic<std::atomic<std::uint32_t>*> links{nullptr};
  };

  /// Adds a chunk, unless another thread has added one. Returns false without memory, or at the limit.
  bool grow(std::uint32_t seen_chunks) noexcept;
  [[noreturn]] void refuse() const;
  [[noreturn]] void report_foreign(const void* block, const void* start) const noexcept;
  [[noreturn]] void report_double_free(const void* block) const noexcept;
  /// These use guarded blocks, if the pool has them: when the pool cannot grow, and when a block is in no chunk.
  void* take_elsewhere() noexcept;
  void give_elsewhere(void* block) noexcept;
  bool has_elsewhere(std::size_t blocks) const noexcept;

  /// Returns the number of blocks in the first `count` chunks that the limit allows.
  std::uint64_t blocks_in(std::uint32_t count) const noexcept {
    const std::uint64_t total = (std::uint64_t{1} << (first_shift + count)) - (std::uint64_t{1} << first_shift);
    return options.limit_blocks != 0 ? std::min<std::uint64_t>(total, options.limit_blocks) : total;
  }

  chunk chunks[max_chunks];
  std::atomic<std::uint32_t> chunk_count{0};     ///< complete chunks
  std::atomic<std::uint64_t> touched_blocks{0};  ///< blocks that were handed out at least once
  free_stack free[stacks];
  std::uint32_t first_shift;  ///< the first chunk has 1 << first_shift blocks
  std::size_t block_bytes;
  std::size_t alignment;
  pool_options options;
  guarded_blocks* guarded;  ///< used instead of all chunks, or null
  std::size_t chunk_bytes(std::uint32_t number) const noexcept;

 private:
  char* install(chunk& target, std::uint32_t number) noexcept;
  std::atomic<std::uint32_t>* links_of(char* begin, std::size_t blocks) const noexcept;
};

}  // namespace detail

/// tarn::lock_free_pool<node> nodes;
/// node* one = nodes.create(7);
/// nodes.destroy(one);                  // by any thread
///
/// Threads: any number, at any time, but construction and destruction belong to one thread. Lock-free: some thread
/// always makes progress, whatever the others do; only growth calls the upstream, which may lock. Memory goes back
/// when the pool is destroyed, not before; objects still alive then vanish without running their destructors. If you
/// only need speed, use tarn::shared_pool, which is many times as fast. Errors: allocate throws std::bad_alloc
/// (pool_limit_reached at the limit), try_allocate returns null. Freeing a foreign block is a fault, and so is
/// freeing a block twice. Options: `first_chunk` is rounded up to a power of two, later chunks double, `step` is
/// ignored. A null upstream is the heap that is current when a chunk is needed; any other must serve any thread.
/// Cost: one compare-and-swap for allocate and one for deallocate; 4 bytes for each block.
template <class T>
class lock_free_pool : public typed_pool<lock_free_pool<T>, T> {
  static constexpr std::size_t alignment = std::max(alignof(T), std::size_t{8});
  static constexpr std::size_t block_bytes = (sizeof(T) + alignment - 1) / alignment * alignment;

 public:
  lock_free_pool() noexcept : lock_free_pool(pool_options{}) {}
  /// Takes no memory yet.
  explicit lock_free_pool(const pool_options& options) noexcept : store_(block_bytes, alignment, options) {}

  /// Returns memory for a T, without constructing one.
  [[nodiscard]] void* allocate() {
    void* const block = try_allocate();
    if (block == nullptr) [[unlikely]] {
      store_.refuse();
    }
    return block;
  }
  /// Does the same as allocate, and returns null instead of throwing.
  [[nodiscard]] void* try_allocate() noexcept {
    const std::size_t first = own_stack();
    for (;;) {
      // Tries the own stack first, so that threads rarely meet; then unused blocks; then the other stacks.
      if (void* const block = pop(store_.free[first])) [[likely]] {
        return block;
      }
      // acquire: the counted chunks are seen complete.
      const std::uint32_t chunks = store_.chunk_count.load(std::memory_order_acquire);
      const std::uint64_t capacity = store_.blocks_in(chunks);
      for (std::uint64_t number = store_.touched_blocks.load(std::memory_order_relaxed); number < capacity;) {
        if (store_.touched_blocks.compare_exchange_weak(number, number + 1, std::memory_order_relaxed)) {
          const location slot = place_of(static_cast<std::uint32_t>(number));
          link_of(slot).store(in_use, std::memory_order_relaxed);
          return block_at(slot);
        }
      }
      for (std::size_t distance = 1; distance < detail::lock_free_store::stacks; ++distance) {
        if (void* const block = pop(store_.free[(first + distance) % detail::lock_free_store::stacks])) return block;
      }
      if (!store_.grow(chunks)) return store_.take_elsewhere();
    }
  }
  /// Frees a block of this pool, which must not be null. Any thread may call it.
  void deallocate(void* block) noexcept {
    const location slot = place_of(block);
    if (slot.chunk == nowhere) [[unlikely]] {
      store_.give_elsewhere(block);
    } else {
      note_free(slot);
      detail::mark_free(block, block_bytes);
      push(store_.free[own_stack()], slot);
    }
  }

  /// Takes memory for `objects` in total, used or not. Throws what allocate throws.
  void reserve(std::size_t objects) {
    while (capacity() < objects) {
      if (!store_.grow(store_.chunk_count.load(std::memory_order_acquire))) {
        if (store_.has_elsewhere(objects)) return;
        store_.refuse();
      }
    }
  }
  /// Returns the number of blocks in all chunks.
  std::size_t capacity() const noexcept { return store_.blocks_in(store_.chunk_count.load(std::memory_order_relaxed)); }
  /// Returns the name from the options.
  const char* name() const noexcept { return store_.options.name; }

 private:
  /// Distinguishes threads by the addresses of their thread-locals, which lie beside their stacks. Stacks are usually
  /// an odd number of pages apart.
  static std::size_t own_stack() noexcept {
    return (reinterpret_cast<std::uintptr_t>(&detail::local_heap) >> 12) % detail::lock_free_store::stacks;
  }

  /// The location of a block: number `index` in its chunk.
  static constexpr std::uint32_t nowhere = detail::lock_free_store::max_chunks;
  struct location {
    std::uint32_t chunk;
    std::size_t index;
  };
  std::uint64_t first_blocks() const noexcept { return std::uint64_t{1} << store_.first_shift; }
  location place_of(std::uint32_t number) const noexcept {
    const std::uint64_t shifted_number = number + first_blocks();
    const auto width = static_cast<std::uint32_t>(std::bit_width(shifted_number)) - 1;
    return {width - store_.first_shift, shifted_number ^ (std::uint64_t{1} << width)};
  }
  std::uint32_t number_of(location slot) const noexcept {
    return static_cast<std::uint32_t>((first_blocks() << slot.chunk) - first_blocks() + slot.index);
  }
  void* block_at(location slot) const noexcept {
    void* const block = store_.chunks[slot.chunk].begin.load(std::memory_order_relaxed) + slot.index * block_bytes;
    detail::mark_allocated(block, block_bytes);
    return block;
  }
  std::atomic<std::uint32_t>& link_of(location slot) const noexcept {
    return store_.chunks[slot.chunk].links.load(std::memory_order_relaxed)[slot.index];
  }
  /// Tries the newest chunk first, because it has half of all blocks.
  location place_of(const void* block) const noexcept {
    for (std::uint32_t chunk = store_.chunk_count.load(std::memory_order_acquire); chunk-- != 0;) {
      const char* const begin = store_.chunks[chunk].begin.load(std::memory_order_relaxed);
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - begin);
      const std::size_t index = offset / block_bytes;
      if (index < first_blocks() << chunk) {
        if (offset % block_bytes != 0) [[unlikely]] {
          store_.report_foreign(block, begin + index * block_bytes);
        }
        return {chunk, index};
      }
    }
    return {nowhere, 0};
  }

  /// The link of a block that the program has. A thread that started to read the link while the block was in a stack
  /// may read this value instead; its exchange then fails, because the tag has changed.
  static constexpr std::uint32_t in_use = ~std::uint32_t{0};

  /// Reports a second free of a block. Builds with checks also detect one by two threads at the same time.
  void note_free(location slot) noexcept {
    std::atomic<std::uint32_t>& link = link_of(slot);
    const std::uint32_t was =
        detail::checks_frees ? link.exchange(0, std::memory_order_relaxed) : link.load(std::memory_order_relaxed);
    if (was != in_use) [[unlikely]] {
      store_.report_double_free(block_at(slot));
    }
  }

  static std::uint64_t with_next_tag(std::uint64_t top, std::uint32_t number_and_one) noexcept {
    return ((top >> 32) + 1) << 32 | number_and_one;
  }

  void* pop(detail::free_stack& stack) noexcept {
    // acquire: makes the link that the pusher wrote visible.
    std::uint64_t top = stack.top.load(std::memory_order_acquire);
    for (unsigned failures = 0;; back_off(failures)) {
      const auto number_and_one = static_cast<std::uint32_t>(top);
      if (number_and_one == 0) return nullptr;
      const location slot = place_of(number_and_one - 1);
      // Another thread may have the block by now, and the link may be old: then the exchange below fails.
      const std::uint32_t next = link_of(slot).load(std::memory_order_relaxed);
      if constexpr (TARN_SMALL) {
        std::this_thread::yield();  // an interruption is worst here, so builds that hunt for errors cause many
      }
      // acquire: everything that the last user wrote into the block came before its push.
      if (stack.top.compare_exchange_weak(top, with_next_tag(top, next), std::memory_order_acquire,
                                          std::memory_order_acquire)) [[likely]] {
        link_of(slot).store(in_use, std::memory_order_relaxed);
        return block_at(slot);
      }
    }
  }

  void push(detail::free_stack& stack, location slot) noexcept {
    std::atomic<std::uint32_t>& link = link_of(slot);
    const std::uint32_t number_and_one = number_of(slot) + 1;
    std::uint64_t top = stack.top.load(std::memory_order_relaxed);
    for (unsigned failures = 0;; back_off(failures)) {
      link.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
      // release: the thread that pops the block sees the link and everything that this user did with the block.
      if (stack.top.compare_exchange_weak(top, (top >> 32) << 32 | number_and_one, std::memory_order_release,
                                          std::memory_order_relaxed)) [[likely]] {
        return;
      }
    }
  }

  /// Makes a thread wait after a failure, longer each time, so that some thread finishes: a bare loop is slower than
  /// a lock.
  static void back_off(unsigned& failures) noexcept {
    constexpr unsigned max_doublings = 8;
    for (unsigned spin = 1u << std::min(failures++, max_doublings); spin != 0; --spin) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("isb");
#endif
    }
  }

  mutable detail::lock_free_store store_;
};

}  // namespace tarn
