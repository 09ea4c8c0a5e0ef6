// A pool that any number of threads use without a lock: a thread that stops at any point holds up no other.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include <tarn/detail/fast_path.hpp>
#include <tarn/fixed_pool.hpp>

namespace tarn {
namespace detail {

/// A stack of free block numbers. Number and tag stand in one word: the tag counts pops, so that a thread
/// that was interrupted between reading the top and replacing it sees that the same block is not the same top
/// (the ABA problem; the remedy is that of IBM's System/370 manual, 1983). 2^32 pops would have to pass meanwhile.
struct alignas(128) free_stack {
  std::atomic<std::uint64_t> top{0};  ///< tag << 32 | number + 1; 0 in the lower half: empty
};

/// The memory of a lock-free pool: chunk k has first << k blocks, so that a number tells the chunk.
class lock_free_store {
 public:
  static constexpr std::size_t most_chunks = 26;
  static constexpr std::size_t stacks = 8;

  lock_free_store(std::size_t block_bytes, std::size_t alignment, const pool_options& options) noexcept;
  ~lock_free_store();
  lock_free_store(const lock_free_store&) = delete;
  lock_free_store& operator=(const lock_free_store&) = delete;

  /// A chunk: the blocks, and behind them the links of their stacks. Not in the blocks: a thread may read the link
  /// of a block that another has been given meanwhile.
  struct chunk {
    std::atomic<char*> begin{nullptr};
    std::atomic<std::uint32_t>* links = nullptr;
  };

  /// Another chunk, or somebody else has made it. False: no memory, or the limit.
  bool grow(std::uint32_t seen_chunks) noexcept;
  [[noreturn]] void refuse() const;
  [[noreturn]] void report_foreign(const void* block, const void* start) const noexcept;
  /// What is left to try when the pool cannot grow, and when a block is in no chunk: guarded blocks, if it has such.
  void* take_elsewhere() noexcept;
  void give_elsewhere(void* block) noexcept;
  bool has_elsewhere(std::size_t blocks) const noexcept;

  /// Blocks in the first `count` chunks that the limit allows.
  std::uint64_t blocks_in(std::uint32_t count) const noexcept {
    const std::uint64_t all = (std::uint64_t{1} << (first_shift + count)) - (std::uint64_t{1} << first_shift);
    return options.limit != 0 ? std::min<std::uint64_t>(all, options.limit) : all;
  }

  chunk chunks[most_chunks];
  std::atomic<std::uint32_t> chunk_count{0};  ///< those that are whole
  std::atomic<std::uint64_t> fresh{0};        ///< blocks that were handed out once, at least
  free_stack free[stacks];
  std::uint32_t first_shift;  ///< the first chunk has 1 << first_shift blocks
  std::size_t block_bytes;
  std::size_t alignment;
  pool_options options;
  guarded_blocks* guarded;  ///< instead of all chunks, or null
  std::size_t chunk_bytes(std::uint32_t number) const noexcept;
};

}  // namespace detail

/// tarn::lock_free_pool<node> nodes;
/// node* one = nodes.create(7);
/// nodes.destroy(one);                  // by any thread
///
/// Threads: any, at any time, but for construction and destruction. Lock-free: some thread always gets on, whatever the
/// others do; only growing asks upstream, which may lock. Memory goes back when the pool ends, not before, and objects
/// that live then are gone without their destructor. For plain speed take tarn::shared_pool, which is 8 times as fast.
/// Errors: allocate throws std::bad_alloc (pool_limit_reached at the limit), try_allocate gives null. A foreign block
/// is a fault. Options: `first_chunk` is rounded up to a power of two, later chunks double, `step` is ignored. A null
/// upstream is the heap that is current where a chunk is needed; any other must serve any thread.
/// Cost: one compare-and-swap for allocate and one for deallocate; 4 bytes a block.
template <class T>
class lock_free_pool {
  static constexpr std::size_t alignment = std::max(alignof(T), std::size_t{8});
  static constexpr std::size_t block_bytes = (sizeof(T) + alignment - 1) / alignment * alignment;

 public:
  using value_type = T;

  /// Destroys, and gives the block back to the pool that it remembers.
  class deleter {
   public:
    deleter() noexcept = default;
    explicit deleter(lock_free_pool& of) noexcept : of_(&of) {}
    void operator()(T* object) const noexcept { of_->destroy(object); }

   private:
    lock_free_pool* of_ = nullptr;
  };
  using unique = std::unique_ptr<T, deleter>;

  lock_free_pool() noexcept : lock_free_pool(pool_options{}) {}
  explicit lock_free_pool(const pool_options& options) noexcept : store_(block_bytes, alignment, options) {}

  /// A new T. Throws what its constructor throws (the block is free again then), or std::bad_alloc.
  template <class... Arguments>
  [[nodiscard]] T* create(Arguments&&... arguments) {
    std::unique_ptr<void, giving_back> block(allocate(), giving_back{this});
    T* const made = std::construct_at(static_cast<T*>(block.get()), std::forward<Arguments>(arguments)...);
    static_cast<void>(block.release());
    return made;
  }
  /// Ends a T of this pool. Null is allowed.
  void destroy(T* object) noexcept {
    if (object != nullptr) {
      std::destroy_at(object);
      deallocate(object);
    }
  }
  template <class... Arguments>
  [[nodiscard]] unique make_unique(Arguments&&... arguments) {
    return unique(create(std::forward<Arguments>(arguments)...), deleter(*this));
  }

  /// Memory for a T, without one in it.
  [[nodiscard]] void* allocate() {
    void* const block = try_allocate();
    if (block == nullptr) [[unlikely]] {
      store_.refuse();
    }
    return block;
  }
  [[nodiscard]] void* try_allocate() noexcept {
    const std::size_t own = own_stack();
    for (;;) {
      // The own stack first, so that threads rarely meet; then blocks that nobody had; then the others'.
      if (void* const block = pop(store_.free[own])) [[likely]] {
        return block;
      }
      // acquire: the chunks that are counted are seen whole.
      const std::uint32_t chunks = store_.chunk_count.load(std::memory_order_acquire);
      const std::uint64_t capacity = store_.blocks_in(chunks);
      for (std::uint64_t number = store_.fresh.load(std::memory_order_relaxed); number < capacity;) {
        if (store_.fresh.compare_exchange_weak(number, number + 1, std::memory_order_relaxed)) {
          return block_at(place_of(static_cast<std::uint32_t>(number)));
        }
      }
      for (std::size_t other = 1; other < detail::lock_free_store::stacks; ++other) {
        if (void* const block = pop(store_.free[(own + other) % detail::lock_free_store::stacks])) {
          return block;
        }
      }
      if (!store_.grow(chunks)) {
        return store_.take_elsewhere();
      }
    }
  }
  void deallocate(void* block) noexcept {
    const place where = place_of(block);
    if (where.chunk == nowhere) [[unlikely]] {
      store_.give_elsewhere(block);
    } else {
      detail::mark_free(block, block_bytes);
      push(store_.free[own_stack()], where);
    }
  }

  /// Takes memory for `objects` in all, used or not. Throws as allocate.
  void reserve(std::size_t objects) {
    while (capacity() < objects) {
      if (!store_.grow(store_.chunk_count.load(std::memory_order_acquire))) {
        if (store_.has_elsewhere(objects)) {
          return;
        }
        store_.refuse();
      }
    }
  }
  /// Blocks in all chunks.
  std::size_t capacity() const noexcept { return store_.blocks_in(store_.chunk_count.load(std::memory_order_relaxed)); }
  const char* name() const noexcept { return store_.options.name; }

 private:
  struct giving_back {
    lock_free_pool* to;
    void operator()(void* block) const noexcept { to->deallocate(block); }
  };

  /// Threads are told apart by where their thread-locals are: beside their stacks, which are usually an odd number of
  /// pages apart.
  static std::size_t own_stack() noexcept {
    return (reinterpret_cast<std::uintptr_t>(&detail::local) >> 12) % detail::lock_free_store::stacks;
  }

  /// Where a block stands: it is number `at` in its chunk.
  static constexpr std::uint32_t nowhere = detail::lock_free_store::most_chunks;
  struct place {
    std::uint32_t chunk;
    std::size_t at;
  };
  std::uint64_t first_blocks() const noexcept { return std::uint64_t{1} << store_.first_shift; }
  place place_of(std::uint32_t number) const noexcept {
    const std::uint64_t counted = number + first_blocks();
    const auto width = static_cast<std::uint32_t>(std::bit_width(counted)) - 1;
    return {width - store_.first_shift, static_cast<std::size_t>(counted ^ (std::uint64_t{1} << width))};
  }
  std::uint32_t number_of(place where) const noexcept {
    return static_cast<std::uint32_t>((first_blocks() << where.chunk) - first_blocks() + where.at);
  }
  void* block_at(place where) const noexcept {
    void* const block = store_.chunks[where.chunk].begin.load(std::memory_order_relaxed) + where.at * block_bytes;
    detail::mark_allocated(block, block_bytes);
    return block;
  }
  std::atomic<std::uint32_t>& link_of(place where) const noexcept { return store_.chunks[where.chunk].links[where.at]; }
  /// The newest chunk has half of all blocks, so it is tried first.
  place place_of(const void* block) const noexcept {
    for (std::uint32_t chunk = store_.chunk_count.load(std::memory_order_acquire); chunk-- != 0;) {
      const char* const begin = store_.chunks[chunk].begin.load(std::memory_order_relaxed);
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - begin);
      const std::size_t at = offset / block_bytes;
      if (at < first_blocks() << chunk) {
        if (offset % block_bytes != 0) [[unlikely]] {
          store_.report_foreign(block, begin + at * block_bytes);
        }
        return {chunk, at};
      }
    }
    return {nowhere, 0};
  }

  static std::uint64_t with_next_tag(std::uint64_t top, std::uint32_t number_and_one) noexcept {
    return ((top >> 32) + 1) << 32 | number_and_one;
  }

  void* pop(detail::free_stack& from) noexcept {
    // acquire: the link that the pusher wrote is seen.
    std::uint64_t top = from.top.load(std::memory_order_acquire);
    for (unsigned failures = 0;; back_off(failures)) {
      const auto number_and_one = static_cast<std::uint32_t>(top);
      if (number_and_one == 0) {
        return nullptr;
      }
      const place where = place_of(number_and_one - 1);
      // The block may be another's by now, and its link old: then the exchange below fails.
      const std::uint32_t next = link_of(where).load(std::memory_order_relaxed);
      if constexpr (TARN_SMALL) {
        std::this_thread::yield();  // where an interruption is worst, so that builds that hunt for errors have many
      }
      // acquire: what the last user wrote into the block came before its push.
      if (from.top.compare_exchange_weak(top, with_next_tag(top, next), std::memory_order_acquire,
                                         std::memory_order_acquire)) [[likely]] {
        return block_at(where);
      }
    }
  }

  void push(detail::free_stack& to, place where) noexcept {
    std::atomic<std::uint32_t>& link = link_of(where);
    const std::uint32_t number_and_one = number_of(where) + 1;
    std::uint64_t top = to.top.load(std::memory_order_relaxed);
    for (unsigned failures = 0;; back_off(failures)) {
      link.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
      // release: the link, and what this user did with the block, are seen by who pops it.
      if (to.top.compare_exchange_weak(top, (top >> 32) << 32 | number_and_one, std::memory_order_release,
                                       std::memory_order_relaxed)) [[likely]] {
        return;
      }
    }
  }

  /// Who failed waits, longer each time, so that somebody finishes: a bare loop is slower than a lock.
  static void back_off(unsigned& failures) noexcept {
    constexpr unsigned longest = 8;
    for (unsigned spin = 1u << std::min(failures++, longest); spin != 0; --spin) {
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
