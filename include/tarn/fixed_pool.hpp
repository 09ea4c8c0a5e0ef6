// A pool of blocks of one size, for one thread at a time, and what the pools of objects share.
//
//   magazine   addresses of free blocks, the newest on top           inline
//   carriers   free blocks that hold the addresses of other free ones
//   fresh      the ends of chunks, never used and never touched
//
// An array of addresses beats a linked list because popping does not touch the block. Free blocks
// carry the addresses that do not fit, so that no block has any overhead (docs/design/pools.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include <tarn/detail/config.hpp>
#include <tarn/detail/fast_path.hpp>

namespace tarn {

/// Says how a pool grows.
struct pool_options {
  const char* name = "";  ///< appears in messages; the pool keeps the pointer, not a copy
  /// Provides the chunks. Null selects the heap that is current when a chunk is needed.
  std::pmr::memory_resource* upstream = nullptr;
  std::size_t first_chunk_blocks = 0;  ///< blocks in the first chunk; 0: as many as fit in 4 KiB, at least 8
  std::size_t increment_blocks = 0;    ///< blocks in each later chunk; 0: doubles the pool, by at most 1 MiB
  std::size_t limit_blocks = 0;        ///< the most blocks at any time; 0: no limit
  /// Surrounds each block with fences, fills it, notes its sites and quarantines it after its free. Reports blocks in
  /// use at the end of the pool. Blocks then come from the current heap, one by one, which is slow
  /// (docs/guide/guard.md).
  bool is_guarded = false;
};

/// A copy of a pool's counters. They describe the present unless they say otherwise.
struct pool_statistics {
  std::size_t in_use = 0;          ///< blocks that the program holds
  std::size_t peak_in_use = 0;     ///< the most blocks in use so far; may be up to 255 (a magazine) too low
  std::size_t capacity = 0;        ///< blocks in all chunks
  std::size_t chunks = 0;          ///< the number of chunks
  std::size_t chunk_bytes = 0;     ///< bytes in chunks, and in the magazine
  std::size_t upstream_calls = 0;  ///< all requests to the upstream; constant in a steady state
};

/// The exception of allocate at the limit; what() has the numbers. Copying it throws nothing.
class pool_limit_reached : public std::bad_alloc {
 public:
  /// Made by a pool: a block has `block_bytes` bytes, and `limit` is a number of blocks.
  pool_limit_reached(const char* name, std::size_t block_bytes, std::size_t limit) noexcept;
  const char* what() const noexcept override { return text_; }

 private:
  char text_[160];
};

namespace detail {

inline constexpr std::size_t pool_slots = TARN_SMALL ? 16 : 256;

/// Holds the addresses of free blocks. The first entry is null, so that the load that takes a block also detects
/// "empty". The array ends on a multiple of its size, so that the pointer itself shows "full".
struct alignas(pool_slots * sizeof(void*)) pool_magazine {
  void* slots[pool_slots];

  constexpr void** bottom() noexcept { return slots + 1; }
  constexpr void** end() noexcept { return slots + pool_slots; }
};

/// Stands in for the magazine of a pool that has none: it is empty and full at the same time, and never written.
extern constinit pool_magazine shut_pool_magazine;

struct pool_chunk;
struct pool_carrier;
class guarded_blocks;
class shared_blocks;
struct shared_pools;
struct pool_c_api;

}  // namespace detail

/// Hands out blocks of one size.
///
///   tarn::fixed_pool frames(1500, 64);
///   void* frame = frames.allocate();
///   frames.deallocate(frame);
///
/// Threads: one at a time (tarn::pool<T, Mutex> has a lock). Errors: allocate throws std::bad_alloc
/// (pool_limit_reached at the limit); try_allocate returns null. A free of a block of another pool, and a double free,
/// are faults. Builds with TARN_CHECKS report them at once; other builds report them when the numbers do not add up,
/// or in for_each_live and is_valid. AddressSanitizer builds poison free blocks.
/// Cost: allocate and deallocate are inline, and together about ten instructions; a block has no overhead.
class fixed_pool {
 public:
  /// Makes a pool of blocks of `bytes` bytes at multiples of `alignment`, which is rounded up to a power of two. Takes
  /// no memory yet.
  explicit fixed_pool(std::size_t bytes, std::size_t alignment = detail::block_alignment,
                      const pool_options& options = {}) noexcept;
  /// Returns all memory at once, also that of blocks in use.
  ~fixed_pool();
  fixed_pool(const fixed_pool&) = delete;
  fixed_pool& operator=(const fixed_pool&) = delete;

  /// Returns a block. Throws std::bad_alloc, or pool_limit_reached at the limit.
  [[nodiscard, gnu::always_inline]] void* allocate() {
    return take([this]() __attribute__((always_inline)) { return allocate_slow(); });
  }
  /// Like allocate, but returns null instead of throwing.
  [[nodiscard, gnu::always_inline]] void* try_allocate() noexcept {
    return take([this]() __attribute__((always_inline)) { return try_allocate_slow(); });
  }
  /// Frees a block, which must not be null.
  [[gnu::always_inline]] void deallocate(void* block) noexcept {
    if constexpr (TARN_CHECKS) {
      check_returned(block);
    }
    void** const top = top_;
    if (reinterpret_cast<std::uintptr_t>(top) % sizeof(detail::pool_magazine) == 0) [[unlikely]] {
      spill(block);
    } else {
      *top = block;
      top_ = top + 1;
    }
    detail::mark_free(block, block_bytes_);
  }

  /// Takes memory for `blocks` blocks in total, used or not. Throws like allocate.
  void reserve(std::size_t blocks);
  /// Frees all blocks at once without touching them, and keeps the memory.
  void clear() noexcept;
  /// Like clear(), and returns the memory to the upstream.
  void release() noexcept;

  /// Calls `visit(void*)` for every block in use, in the order of addresses. `visit` must not use the pool. Sorts the
  /// free blocks first, in O(n log n). Reports double frees and blocks of other pools as faults.
  template <class Each>
  void for_each_live(Each visit) {
    for_each_live([](void* block, void* call) { (*static_cast<Each*>(call))(block); }, &visit);
  }

  /// Returns the size of a block in bytes, with rounding.
  std::size_t block_bytes() const noexcept { return block_bytes_; }
  /// Returns the name from the options.
  const char* name() const noexcept { return options_.name; }
  /// Returns a copy of the counters.
  pool_statistics statistics() const noexcept;
  /// Returns whether the pool's internal structures are consistent. It is slow and meant for tests.
  bool is_valid() const noexcept;

 private:
  friend class detail::shared_blocks;
  friend struct detail::shared_pools;
  friend struct detail::pool_c_api;
  template <class Otherwise>
  [[gnu::always_inline]] void* take(Otherwise otherwise) {
    void** const top = top_;
    void* block = top[-1];
    if (block != nullptr) [[likely]] {
      top_ = top - 1;
    } else {
      block = otherwise();
    }
    if constexpr (TARN_CHECKS) {
      note_taken(block);
    }
    detail::mark_allocated(block, block_bytes_);
    return block;
  }

  void* allocate_slow();
  void* try_allocate_slow() noexcept;
  void spill(void* block) noexcept;
  bool refill() noexcept;
  /// Takes up to `count` free blocks at once, as many as one refill provides; returns 0 without memory. The blocks are
  /// neither marked nor counted as in use.
  std::size_t take_many(void** target, std::size_t count, const void* site) noexcept;
  void give_many(void* const* blocks, std::size_t count, const void* site) noexcept;
  void* try_allocate_slow(const void* site) noexcept;
  void spill(void* block, const void* site) noexcept;
  bool is_guarded() noexcept;
  bool add_magazine() noexcept;
  bool add_chunk(std::size_t min_blocks, std::size_t preferred_blocks) noexcept;
  [[noreturn]] void refuse() const;
  void for_each_live(void (*visit)(void*, void*), void* call);
  void put_back(void* list) noexcept;
  std::size_t untouched_blocks() const noexcept;
  std::size_t free_blocks() const noexcept;
  detail::pool_chunk* chunk_of(const void* block) const noexcept;
  void note_taken(void* block) noexcept;
  void check_returned(void* block) noexcept;

  void** top_ = detail::shut_pool_magazine.end();
  std::size_t block_bytes_;
  detail::pool_magazine* magazine_ = nullptr;
  detail::pool_carrier* carriers_ = nullptr;        ///< newest first
  std::size_t carried_ = 0;                         ///< blocks in carriers, with the carriers themselves
  std::size_t carrier_blocks_;                      ///< addresses that a carrier holds
  detail::pool_chunk* chunks_ = nullptr;            ///< newest first
  detail::pool_chunk* untouched_chunks_ = nullptr;  ///< chunks with blocks that were never used, oldest first
  std::size_t capacity_ = 0;
  std::size_t chunk_count_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::size_t upstream_calls_ = 0;
  std::size_t peak_in_use_ = 0;
  std::size_t wanted_bytes_;  ///< block_bytes_, before it was rounded up
  std::size_t alignment_;
  pool_options options_;
  detail::guarded_blocks* guarded_ = nullptr;
};

/// Creates and destroys objects of one type in the blocks of `Pool`, which derives from this class: tarn::pool,
/// tarn::shared_pool or tarn::lock_free_pool. Threads, errors and cost are those of the pool.
template <class Pool, class T>
class typed_pool {
 public:
  using value_type = T;

  /// Destroys the object, and returns its block to the pool that the deleter remembers.
  class deleter {
   public:
    deleter() noexcept = default;
    /// Remembers the pool, which must outlive the object.
    explicit deleter(Pool& owner) noexcept : owner_(&owner) {}
    void operator()(T* object) const noexcept { owner_->destroy(object); }

   private:
    Pool* owner_ = nullptr;
  };
  /// Owns an object, and returns it to the pool.
  using unique = std::unique_ptr<T, deleter>;

  /// Creates a T. Passes on what its constructor throws, and frees the block then. Throws like the pool's allocate.
  template <class... Arguments>
  [[nodiscard, gnu::always_inline]] T* create(Arguments&&... arguments) {
    void* const block = self().allocate();
    if constexpr (std::is_nothrow_constructible_v<T, Arguments...>) {
      return std::construct_at(static_cast<T*>(block), std::forward<Arguments>(arguments)...);
    } else {
      unused hold{self(), block};
      T* const object = std::construct_at(static_cast<T*>(block), std::forward<Arguments>(arguments)...);
      hold.block = nullptr;
      return object;
    }
  }
  /// Destroys a T of this pool. Null is allowed.
  [[gnu::always_inline]] void destroy(T* object) noexcept {
    if (object != nullptr) {
      std::destroy_at(object);
      self().deallocate(object);
    }
  }
  /// Creates a T that returns to the pool by itself. Throws like create.
  template <class... Arguments>
  [[nodiscard]] unique make_unique(Arguments&&... arguments) {
    return unique(create(std::forward<Arguments>(arguments)...), deleter(self()));
  }

 private:
  struct unused {
    ~unused() {
      if (block != nullptr) owner.deallocate(block);
    }
    Pool& owner;
    void* block;
  };

  Pool& self() noexcept { return static_cast<Pool&>(*this); }
};

}  // namespace tarn
