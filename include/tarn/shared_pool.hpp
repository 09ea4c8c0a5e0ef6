// A pool for any number of threads at once. Each thread has a magazine of its own, and exchanges half a
// magazine at a time with the pool's depot.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/config.hpp>
#include <tarn/detail/fast_path.hpp>
#include <tarn/fixed_pool.hpp>
#include <tarn/spin_mutex.hpp>

namespace tarn {
namespace detail {

/// Refers to a thread's magazine of one pool. `pool` is a number that is never reused, so that the seat of a destroyed
/// pool matches no other pool; 0 matches none.
struct pool_seat {
  std::uint64_t pool = 0;
  void** top = nullptr;
};

/// The number of pools that have seats at any time; calls on further pools take a lock. A table of fixed size needs no
/// bounds check, which saves 0.3 of 1.3 ns per pair.
inline constexpr std::size_t pool_seats = TARN_SMALL ? 8 : 256;

/// Points to the calling thread's seats, one for each pool; all are empty until the thread needs one. It is
/// constant-initialised and trivially destructible, so that a read costs one load at any time in a thread's life.
extern constinit thread_local pool_seat* own_pool_seats [[gnu::tls_model("initial-exec")]];

/// Manages the blocks of a shared pool, without regard to their type.
class shared_blocks {
 public:
  shared_blocks(std::size_t bytes, std::size_t alignment, const pool_options& options);
  ~shared_blocks();
  shared_blocks(const shared_blocks&) = delete;
  shared_blocks& operator=(const shared_blocks&) = delete;

  [[nodiscard, gnu::always_inline]] void* allocate() {
    void* const block = take();
    return block != nullptr ? block : allocate_slow();
  }
  [[nodiscard, gnu::always_inline]] void* try_allocate() noexcept {
    void* const block = take();
    return block != nullptr ? block : try_allocate_slow();
  }
  [[gnu::always_inline]] void deallocate(void* block) noexcept {
    if constexpr (TARN_CHECKS) {
      check_returned(block);
    }
    pool_seat& seat = own_pool_seats[seat_];
    void** const top = seat.top;
    mark_free(block, depot_.block_bytes());
    if (seat.pool == id_ && reinterpret_cast<std::uintptr_t>(top) % sizeof(pool_magazine) != 0) [[likely]] {
      *top = block;
      seat.top = top + 1;
    } else {
      deallocate_slow(block);
    }
  }

  void reserve(std::size_t blocks);
  pool_statistics statistics() noexcept;
  bool is_valid() noexcept;
  const char* name() const noexcept { return depot_.name(); }

 private:
  friend struct shared_pools;
  friend struct pool_c_api;

  [[gnu::always_inline]] void* take() noexcept {
    pool_seat& seat = own_pool_seats[seat_];
    if (seat.pool != id_) [[unlikely]] {
      return nullptr;
    }
    void** const top = seat.top;
    void* const block = top[-1];
    if (block == nullptr) [[unlikely]] {
      return nullptr;
    }
    seat.top = top - 1;
    note_taken(block);
    return block;
  }
  [[gnu::always_inline]] void note_taken(void* block) noexcept {
    if constexpr (TARN_CHECKS) {
      check_taken(block);
    }
    mark_allocated(block, depot_.block_bytes());
  }

  void* allocate_slow();
  void* try_allocate_slow() noexcept;
  void* try_allocate_slow(const void* site) noexcept;
  void deallocate_slow(void* block) noexcept;
  void deallocate_slow(void* block, const void* site) noexcept;
  void check_taken(void* block) noexcept;
  void check_returned(void* block) noexcept;

  std::uint64_t id_;
  std::size_t seat_ = 0;           ///< the index of this pool's seats; the last index has none
  shared_blocks* next_ = nullptr;  ///< the next pool, in the order of seat_
  bool is_guarded_ = false;        ///< guarded pools have no seats: every call goes to the depot
  fixed_pool depot_;
  spin_mutex lock_;  ///< protects the depot
};

}  // namespace detail

/// Creates and destroys objects of one type in any thread.
///
///   tarn::shared_pool<node> nodes;             // one pool for all threads
///   node* one = nodes.create(7);                // mostly without a lock or an atomic operation
///   nodes.destroy(one);                         // in any thread
///
/// Threads: any thread at any time, except during construction and destruction. A thread gets the block that it freed
/// last, whoever allocated it. It keeps up to 255 free blocks (a full magazine) of each pool that it uses, and returns
/// them when it ends, among its thread_local destructors. Later calls of that thread take a lock. A pool may end while
/// threads that used it live: it frees the blocks that they keep, too. Live objects end without their destructors.
/// Fork: the child may use the pool; blocks that other threads of the parent kept are not handed out there.
/// Errors: allocate throws std::bad_alloc (pool_limit_reached at the limit); try_allocate returns null. Blocks that
/// threads keep count as in use for the limit and the statistics. Faults are those of fixed_pool.
/// Cost: inline, a pair takes about 22 instructions; one lock for every 127 blocks that travel in one direction.
/// Source: J. Bonwick, J. Adams, "Magazines and Vmem", 2001.
template <class T>
class shared_pool : public typed_pool<shared_pool<T>, T> {
 public:
  shared_pool() : shared_pool(pool_options{}) {}
  /// A null upstream selects the process's heap. Any other upstream must be usable by all threads. Throws
  /// std::bad_alloc.
  explicit shared_pool(const pool_options& options) : blocks_(sizeof(T), alignof(T), options) {}

  /// Allocates memory for a T without creating one.
  [[nodiscard, gnu::always_inline]] void* allocate() { return blocks_.allocate(); }
  /// Like allocate, but returns null instead of throwing.
  [[nodiscard, gnu::always_inline]] void* try_allocate() noexcept { return blocks_.try_allocate(); }
  /// Frees a block of this pool, which must not be null. Any thread may call it.
  [[gnu::always_inline]] void deallocate(void* block) noexcept { blocks_.deallocate(block); }

  /// Takes memory for `objects` objects in total, used or not. Throws like allocate.
  void reserve(std::size_t objects) { blocks_.reserve(objects); }
  /// Returns a copy of the counters. Blocks in the caches of threads count as in use.
  pool_statistics statistics() noexcept { return blocks_.statistics(); }
  /// Returns whether the pool's internal structures are consistent. It is slow and meant for tests.
  bool is_valid() noexcept { return blocks_.is_valid(); }
  /// Returns the name from the options.
  const char* name() const noexcept { return blocks_.name(); }

 private:
  detail::shared_blocks blocks_;
};

}  // namespace tarn
