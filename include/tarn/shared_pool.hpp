// A pool that any number of threads use at once: each has a magazine of its own, and half a magazine
// at a time is exchanged with the pool's depot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <tarn/detail/fast_path.hpp>
#include <tarn/fixed_pool.hpp>
#include <tarn/spin_mutex.hpp>

namespace tarn {
namespace detail {

/// Where a thread's magazine of one pool stands. `pool` is a number that no other pool ever has, so that a seat
/// of a pool that is gone fits none; 0 fits no pool.
struct pool_seat {
  std::uint64_t pool = 0;
  void** top = nullptr;
};

/// Pools at one time that have a seat with each thread; further ones take a lock for each call. A table without a
/// bound to check is worth it: 1.3 → 1.0 ns a pair.
inline constexpr std::size_t pool_seats = TARN_SMALL ? 8 : 256;

/// The calling thread's seats, one for each pool; all empty until it needs one. Constant-initialised and trivially
/// destructible, so that a read costs one load at any time in a thread's life.
extern constinit thread_local pool_seat* own_pool_seats [[gnu::tls_model("initial-exec")]];

/// The blocks of a shared pool, whatever is in them.
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
  std::size_t seat_ = 0;           ///< its number among the pools that there are; the last one seats nobody
  shared_blocks* next_ = nullptr;  ///< of those, by number
  bool is_guarded_ = false;        ///< no thread has a seat: every call goes to the depot
  fixed_pool depot_;
  spin_mutex lock_;  ///< of the depot
};

}  // namespace detail

/// tarn::shared_pool<node> nodes;             // one for all threads
/// node* one = nodes.create(7);                // no lock, no atomic operation, mostly
/// nodes.destroy(one);                         // by any thread
///
/// Threads: any, at any time, but for construction and destruction. A block that a thread frees is the first that it
/// gets again, whoever had it before. A thread keeps up to 255 free blocks, a full magazine, for each pool it uses, and
/// returns them when it ends, among its thread_local destructors; it may use the pool after that, too, then with a
/// lock. A pool may end while threads that used it live: what they kept of it is void. Blocks in use are gone without
/// their destructors. Fork: the child may use the pool; what other threads of the parent kept is not handed out there.
/// Errors: allocate throws std::bad_alloc (pool_limit_reached at the limit), try_allocate gives null. For the limit and
/// the statistics a block that a thread keeps is in use. Faults as for fixed_pool.
/// Cost: inline, 12 and 14 instructions; a lock for every 127 blocks that travel one way.
/// (J. Bonwick, J. Adams, "Magazines and Vmem", 2001.)
template <class T>
class shared_pool {
 public:
  using value_type = T;

  /// Destroys, and gives the block back to the pool that it remembers.
  class deleter {
   public:
    deleter() noexcept = default;
    explicit deleter(shared_pool& of) noexcept : of_(&of) {}
    void operator()(T* object) const noexcept { of_->destroy(object); }

   private:
    shared_pool* of_ = nullptr;
  };
  using unique = std::unique_ptr<T, deleter>;

  shared_pool() : shared_pool(pool_options{}) {}
  /// A null upstream is the process's heap here. Any other must serve any thread. Throws std::bad_alloc.
  explicit shared_pool(const pool_options& options) : blocks_(sizeof(T), alignof(T), options) {}

  /// A new T. Throws what its constructor throws (the block is free again then), or std::bad_alloc.
  template <class... Arguments>
  [[nodiscard, gnu::always_inline]] T* create(Arguments&&... arguments) {
    void* const block = allocate();
    if constexpr (std::is_nothrow_constructible_v<T, Arguments...>) {
      return std::construct_at(static_cast<T*>(block), std::forward<Arguments>(arguments)...);
    } else {
      unused hold{*this, block};
      T* const made = std::construct_at(static_cast<T*>(block), std::forward<Arguments>(arguments)...);
      hold.block = nullptr;
      return made;
    }
  }
  /// Ends a T of this pool. Null is allowed.
  [[gnu::always_inline]] void destroy(T* object) noexcept {
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
  [[nodiscard, gnu::always_inline]] void* allocate() { return blocks_.allocate(); }
  [[nodiscard, gnu::always_inline]] void* try_allocate() noexcept { return blocks_.try_allocate(); }
  [[gnu::always_inline]] void deallocate(void* block) noexcept { blocks_.deallocate(block); }

  /// Takes memory for `objects` in all, used or not. Throws as allocate.
  void reserve(std::size_t objects) { blocks_.reserve(objects); }
  pool_statistics statistics() noexcept { return blocks_.statistics(); }
  bool is_valid() noexcept { return blocks_.is_valid(); }
  const char* name() const noexcept { return blocks_.name(); }

 private:
  struct unused {
    ~unused() {
      if (block != nullptr) {
        of.deallocate(block);
      }
    }
    shared_pool& of;
    void* block;
  };

  detail::shared_blocks blocks_;
};

}  // namespace tarn
