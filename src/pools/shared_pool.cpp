// Shared pools: who there are, what each thread has of them, and the exchange between.
//
// Locks, in this order: the list of pools → a pool's own → whatever its upstream takes. A thread's
// seats are its own; they hold no pointer to a pool, only its id, so that a pool can end without
// asking the threads. At a thread's end the list is searched for the id: what is not found is gone.
#include <tarn/shared_pool.hpp>

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

#include <tarn/detail/thread_end.hpp>
#include <tarn/heap.hpp>

namespace tarn::detail {

constinit pool_seats no_pool_seats{0, {{0, shut_pool_magazine.end(), nullptr, 0}}};
constinit thread_local pool_seats* own_pool_seats = &no_pool_seats;

namespace {

constexpr std::size_t half = pool_slots / 2;
constexpr std::size_t first_batch = 4;
constexpr std::size_t least_seats = 4;

using hold = std::lock_guard<spin_mutex>;

std::size_t bytes_of(std::size_t seats) noexcept { return sizeof(pool_seats) + (seats - 1) * sizeof(pool_seat); }

/// A thread's seats, with what ends them.
struct seated_thread : thread_end_task {
  pool_seats* seats = nullptr;
};
constinit thread_local seated_thread self{};
constinit thread_local bool is_over = false;

}  // namespace

/// The pools that there are, by number.
struct shared_pools {
  static inline constinit spin_mutex lock;
  static inline constinit shared_blocks* first = nullptr;
  static inline constinit std::uint64_t last_id = 0;

  static void add(shared_blocks& made) {
    static const bool handled = pthread_atfork(before_fork, after_fork, after_fork) == 0;
    static_cast<void>(handled);
    const hold guard(lock);
    made.id_ = ++last_id;
    shared_blocks** link = &first;
    while (*link != nullptr && (*link)->number_ == made.number_) {
      ++made.number_;
      link = &(*link)->next_;
    }
    made.next_ = *link;
    *link = &made;
  }
  static void remove(shared_blocks& gone) noexcept {
    const hold guard(lock);
    shared_blocks** link = &first;
    while (*link != &gone) {
      link = &(*link)->next_;
    }
    *link = gone.next_;
  }

  // So that no lock is held by a thread that the child has not. Handlers run in reverse order of their
  // registration, so these take their locks before the engine's do.
  static void before_fork() noexcept {
    lock.lock();
    for (shared_blocks* each = first; each != nullptr; each = each->next_) {
      each->lock_.lock();
    }
  }
  static void after_fork() noexcept {
    for (shared_blocks* each = first; each != nullptr; each = each->next_) {
      each->lock_.unlock();
    }
    lock.unlock();
  }

  /// What a seat holds goes back to its pool, if that still is.
  static void empty(pool_seat& seat) noexcept {
    if (seat.magazine == nullptr) {
      return;
    }
    const hold guard(lock);
    for (shared_blocks* each = first; each != nullptr; each = each->next_) {
      if (each->id_ == seat.pool) {
        const hold of_pool(each->lock_);
        each->depot_.give_many(seat.magazine->bottom(), static_cast<std::size_t>(seat.top - seat.magazine->bottom()));
      }
    }
    seat.top = seat.magazine->bottom();
  }

  static void end(thread_end_task*) noexcept {
    pool_seats* const seats = own_pool_seats;
    own_pool_seats = &no_pool_seats;
    is_over = true;
    for (std::size_t at = 0; at <= seats->mask; ++at) {
      pool_seat& seat = seats->at[at];
      empty(seat);
      if (seat.magazine != nullptr) {
        global().deallocate(seat.magazine, sizeof(pool_magazine), alignof(pool_magazine));
      }
    }
    global().deallocate(seats, bytes_of(seats->mask + 1), alignof(pool_seats));
  }

  /// Room for the seat of pool `number`. False: no memory, or the thread is ending.
  static bool make_room(std::size_t number) noexcept {
    pool_seats* const old = own_pool_seats;
    const bool is_first = old == &no_pool_seats;
    if (is_over || (is_first && !at_thread_end(self))) {
      return false;
    }
    self.run = end;
    const std::size_t count = std::bit_ceil(std::max(number + 1, least_seats));
    auto* const made = static_cast<pool_seats*>(global().try_allocate(bytes_of(count), alignof(pool_seats)));
    if (made == nullptr) {
      return false;
    }
    made->mask = count - 1;
    std::fill_n(made->at, count, no_pool_seats.at[0]);
    if (!is_first) {
      std::copy_n(old->at, old->mask + 1, made->at);
      global().deallocate(old, bytes_of(old->mask + 1), alignof(pool_seats));
    }
    own_pool_seats = made;
    return true;
  }

  /// The calling thread's seat in a pool; null when it can have none.
  static pool_seat* seat_of(const shared_blocks& pool) noexcept {
    if (pool.number_ > own_pool_seats->mask || own_pool_seats == &no_pool_seats) {
      if (!make_room(pool.number_)) {
        return nullptr;
      }
    }
    pool_seat& seat = own_pool_seats->at[pool.number_];
    if (seat.pool != pool.id_) {  // of a pool that is gone, or of none
      if (seat.magazine == nullptr) {
        void* const memory = global().try_allocate(sizeof(pool_magazine), alignof(pool_magazine));
        if (memory == nullptr) {
          return nullptr;
        }
        seat.magazine = ::new (memory) pool_magazine;
        seat.magazine->slots[0] = nullptr;
      }
      seat.pool = pool.id_;
      seat.top = seat.magazine->bottom();
      seat.batch = std::min(first_batch, half);
    }
    return &seat;
  }
};

shared_blocks::shared_blocks(std::size_t bytes, std::size_t alignment, const pool_options& options)
    : depot_(bytes, alignment, [&] {
        pool_options own = options;
        own.upstream = own.upstream != nullptr ? own.upstream : &global();
        return own;
      }()) {
  shared_pools::add(*this);
}

shared_blocks::~shared_blocks() {
  shared_pools::remove(*this);
  depot_.release();
}

void* shared_blocks::allocate_slow() {
  void* const block = try_allocate_slow();
  if (block == nullptr) {
    depot_.refuse();
  }
  return block;
}

void* shared_blocks::try_allocate_slow() noexcept {
  void* block = nullptr;
  if (pool_seat* const seat = shared_pools::seat_of(*this)) {
    void** const bottom = seat->magazine->bottom();
    const hold guard(lock_);
    seat->top = bottom + depot_.take_many(bottom, seat->batch);
    seat->batch = std::min(2 * seat->batch, half);
    if (seat->top != bottom) {
      block = *--seat->top;
    }
  } else {
    const hold guard(lock_);
    depot_.take_many(&block, 1);
  }
  if (block != nullptr) {
    note_taken(block);
  }
  return block;
}

void shared_blocks::deallocate_slow(void* block) noexcept {
  pool_seat* const seat = shared_pools::seat_of(*this);
  if (seat == nullptr) {
    const hold guard(lock_);
    depot_.give_many(&block, 1);
    return;
  }
  if (seat->top == seat->magazine->end()) {  // the older half goes
    void** const bottom = seat->magazine->bottom();
    {
      const hold guard(lock_);
      depot_.give_many(bottom, half);
    }
    seat->top = std::copy(bottom + half, seat->top, bottom);
  }
  *seat->top++ = block;
}

void shared_blocks::check_taken(void* block) noexcept {
  const hold guard(lock_);
  depot_.note_taken(block);
}

void shared_blocks::check_returned(void* block) noexcept {
  const hold guard(lock_);
  depot_.check_returned(block);
}

void shared_blocks::reserve(std::size_t blocks) {
  const hold guard(lock_);
  depot_.reserve(blocks);
}

pool_statistics shared_blocks::statistics() noexcept {
  const hold guard(lock_);
  return depot_.statistics();
}

bool shared_blocks::is_valid() noexcept {
  const hold guard(lock_);
  return depot_.is_valid();
}

}  // namespace tarn::detail
