// A pool of blocks of one size, for one thread at a time; the base of tarn::pool<T>.
//
//   magazine   addresses of free blocks, the newest on top           inline
//   carriers   free blocks that hold the addresses of other free ones
//   fresh      the ends of chunks, never used and never touched
//
// An array of addresses beats a linked list because popping does not touch the block; what
// does not fit is carried by free blocks themselves, so that no block has any overhead.
// (docs/design/pools.md)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

#include <tarn/detail/fast_path.hpp>

// 1 in a build of the library with internal assertions: pools then check each block they get.
#ifndef TARN_CHECKS
#define TARN_CHECKS 0
#endif

namespace tarn {

/// How a pool grows, in blocks.
struct pool_options {
  const char* name = "";  ///< for messages; not copied
  /// Gives the chunks. Null: the heap that is current where a chunk is needed.
  std::pmr::memory_resource* upstream = nullptr;
  std::size_t first_chunk = 0;  ///< 0: what fits in 4 KiB, at least 8
  std::size_t step = 0;         ///< each later chunk; 0: as many as the pool has by then, up to 1 MiB
  std::size_t limit = 0;        ///< most blocks at one time; 0: none
  /// Each block between fences, filled, with its sites, in quarantine when it is free; what is in use when the pool
  /// ends is reported. Blocks then come from the current heap, one by one. Slow. docs/guard.md
  bool guard = false;
};

/// Plain numbers, copied out.
struct pool_statistics {
  std::size_t in_use = 0;          ///< blocks with the program, now
  std::size_t peak_in_use = 0;     ///< most of in_use so far; up to a magazine (255 blocks) too few
  std::size_t capacity = 0;        ///< blocks in all chunks, now
  std::size_t chunks = 0;          ///< now
  std::size_t chunk_bytes = 0;     ///< now, the magazine included
  std::size_t upstream_calls = 0;  ///< requests ever made upstream: no more in a steady state
};

/// What allocate throws at the limit; what() has the numbers.
class pool_limit_reached : public std::bad_alloc {
 public:
  pool_limit_reached(const char* name, std::size_t block_bytes, std::size_t limit) noexcept;
  const char* what() const noexcept override { return text_; }

 private:
  char text_[160];
};

namespace detail {

inline constexpr std::size_t pool_slots = TARN_SMALL ? 16 : 256;

/// Addresses of free blocks; the first entry is null, so that "empty" is seen by the load that
/// takes a block, and the array ends on a multiple of its size, so that "full" is seen in the pointer.
struct alignas(pool_slots * sizeof(void*)) pool_magazine {
  void* slots[pool_slots];

  constexpr void** bottom() noexcept { return slots + 1; }
  constexpr void** end() noexcept { return slots + pool_slots; }
};

/// What a pool without a magazine has: empty and full at once. Never written.
extern constinit pool_magazine shut_pool_magazine;

struct pool_chunk;
struct pool_carrier;
class guarded_blocks;
class shared_blocks;
struct shared_pools;
struct pool_c_api;

}  // namespace detail

/// tarn::fixed_pool frames(1500, 64);
/// void* frame = frames.allocate();
/// frames.deallocate(frame);
///
/// Threads: one at a time (tarn::pool<T, Mutex> has a lock). Errors: allocate throws std::bad_alloc
/// (pool_limit_reached at the limit), try_allocate gives null. A block that is not of this pool, or free
/// already, is a fault that builds with TARN_CHECKS report at once; otherwise it is reported when the numbers
/// do not add up, or by for_each_live and is_valid. Under AddressSanitizer free blocks are poisoned.
/// Cost: allocate and deallocate are inline, 6 and 7 instructions; no byte is added to a block.
class fixed_pool {
 public:
  /// Blocks of `bytes` at multiples of `alignment`, a power of two. Takes no memory yet.
  explicit fixed_pool(std::size_t bytes, std::size_t alignment = detail::block_alignment,
                      const pool_options& options = {}) noexcept;
  /// Gives all memory back at once, whatever is still in use.
  ~fixed_pool();
  fixed_pool(const fixed_pool&) = delete;
  fixed_pool& operator=(const fixed_pool&) = delete;

  [[nodiscard, gnu::always_inline]] void* allocate() {
    return take([this]() __attribute__((always_inline)) { return allocate_slow(); });
  }
  /// As allocate, but null instead of an exception.
  [[nodiscard, gnu::always_inline]] void* try_allocate() noexcept {
    return take([this]() __attribute__((always_inline)) { return try_allocate_slow(); });
  }
  /// Not null.
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

  /// Takes memory for `blocks` in all, used or not. Throws as allocate.
  void reserve(std::size_t blocks);
  /// Frees all blocks at once; the memory stays. Does not look at the blocks.
  void clear() noexcept;
  /// clear(), and the memory goes back upstream.
  void release() noexcept;

  /// Calls `each(void*)` for every block in use, by address. `each` must not use the pool. Sorts the free ones
  /// first: n log n. Finds blocks that were freed twice or are not the pool's, and reports the fault.
  template <class Each>
  void for_each_live(Each each) {
    for_each_live([](void* block, void* call) { (*static_cast<Each*>(call))(block); }, &each);
  }

  std::size_t block_bytes() const noexcept { return block_bytes_; }
  const char* name() const noexcept { return options_.name; }
  pool_statistics statistics() const noexcept;
  /// Whether the pool's inner structures agree with each other. Slow; for tests.
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
  /// Up to `most` free blocks at once, as many as one refill gives; 0: no memory. Not marked, not noted.
  std::size_t take_many(void** to, std::size_t most, const void* site) noexcept;
  void give_many(void* const* blocks, std::size_t count, const void* site) noexcept;
  void* try_allocate_slow(const void* site) noexcept;
  void spill(void* block, const void* site) noexcept;
  bool is_guarded() noexcept;
  bool add_magazine() noexcept;
  bool add_chunk(std::size_t least, std::size_t wanted) noexcept;
  [[noreturn]] void refuse() const;
  void for_each_live(void (*each)(void*, void*), void* call);
  void put_back(void* list) noexcept;
  std::size_t fresh_blocks() const noexcept;
  std::size_t free_blocks() const noexcept;
  detail::pool_chunk* chunk_of(const void* block) const noexcept;
  void note_taken(void* block) noexcept;
  void check_returned(void* block) noexcept;

  void** top_ = detail::shut_pool_magazine.end();
  std::size_t block_bytes_;
  detail::pool_magazine* magazine_ = nullptr;
  detail::pool_carrier* carriers_ = nullptr;  ///< newest first
  std::size_t carried_ = 0;                   ///< blocks in carriers, the carriers included
  std::size_t carrier_blocks_;                ///< in each carrier
  detail::pool_chunk* chunks_ = nullptr;      ///< newest first
  detail::pool_chunk* fresh_ = nullptr;       ///< those with blocks never used, oldest first
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

}  // namespace tarn
