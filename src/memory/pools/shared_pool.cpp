// Shared pools: the list of pools, the seats of each thread, and the exchange between the two.
//
// Locks are taken in this order: the list of pools, a pool's own lock, whatever its upstream takes. A thread's seats
// are its own. They hold no pointer to a pool, only its id, so that a pool can end without asking the threads. At a
// thread's end the list is searched for each id; a pool that is not found is gone.
#include <tarn/shared_pool.hpp>

#include <pthread.h>

#include <algorithm>
#include <new>

#include <tarn/detail/thread_end.hpp>
#include <tarn/heap.hpp>

#include "platform/race_detector.hpp"

#include "platform/fork_section.hpp"

namespace tarn::detail {
namespace {

constexpr std::size_t half = pool_slots / 2;
constexpr std::uint8_t first_batch = 4;
constexpr std::size_t last_seat = pool_seats - 1;  ///< shared by all pools that find no other seat; never taken

/// Holds a lock that only this file takes, and so not the program's inline code.
class [[nodiscard]] hold {
 public:
  explicit hold(spin_mutex& mutex) noexcept : mutex_(mutex) {
    mutex_.lock();
    platform::note_acquire(&mutex_);
  }
  ~hold() {
    platform::note_release(&mutex_);
    mutex_.unlock();
  }
  hold(const hold&) = delete;
  hold& operator=(const hold&) = delete;

 private:
  spin_mutex& mutex_;
};

/// Empty seats for threads that are not registered yet. They are never written.
constinit pool_seat unregistered_seats[pool_seats] = {};

/// A thread's seats, with their magazines.
struct registered_thread : thread_end_task {
  pool_seat seats[pool_seats] = {};
  pool_magazine* magazines[pool_seats] = {};
  std::uint8_t batches[pool_seats] = {};  ///< blocks that the next refill takes
};
constinit thread_local registered_thread* self = nullptr;
constinit thread_local bool is_over = false;

}  // namespace

constinit thread_local pool_seat* own_pool_seats = unregistered_seats;

/// The existing pools, by number.
struct shared_pools {
  static inline constinit spin_mutex lock;
  static inline constinit platform::fork_section forking;
  static inline constinit shared_blocks* first = nullptr;
  static inline constinit std::uint64_t last_id = 0;

  static void add(shared_blocks& blocks) {
    const hold guard(lock);
    blocks.id_ = ++last_id;
    shared_blocks** link = &first;
    while (*link != nullptr && (*link)->seat_ == blocks.seat_ && blocks.seat_ != last_seat) {
      ++blocks.seat_;
      link = &(*link)->next_;
    }
    blocks.next_ = *link;
    *link = &blocks;
  }
  static void remove(shared_blocks& blocks) noexcept {
    const hold guard(lock);
    shared_blocks** link = &first;
    while (*link != &blocks) link = &(*link)->next_;
    *link = blocks.next_;
  }

  // The forking thread holds all locks, so that no lock of the child belongs to a thread that it does not have.
  // Handlers run in the reverse order of their registration, so these take their locks before the engine's handlers do.
  // They are registered at load, because a fork that has already begun ignores handlers that are registered later.
  [[gnu::constructor]] static void register_fork_handlers() noexcept {
    pthread_atfork(prepare_fork, finish_fork_in_parent, finish_fork_in_child);
  }
  static void prepare_fork() noexcept {
    if (!forking.enter()) return;
    lock.lock();
    for (shared_blocks* member = first; member != nullptr; member = member->next_) member->lock_.lock();
    forking.note_owner();
  }
  static void finish_fork_in_parent() noexcept {
    if (forking.leave()) unlock_all();
  }
  static void finish_fork_in_child() noexcept {
    if (forking.leave_in_child()) unlock_all();
  }
  static void unlock_all() noexcept {
    for (shared_blocks* member = first; member != nullptr; member = member->next_) member->lock_.unlock();
    lock.unlock();
  }

  /// Returns the blocks of a magazine to their pool, if that still exists.
  static void give_back(std::uint64_t id, void** blocks, std::size_t count) noexcept {
    const hold guard(lock);
    for (shared_blocks* member = first; member != nullptr; member = member->next_) {
      if (member->id_ == id) {
        const hold of_pool(member->lock_);
        member->depot_.give_many(blocks, count, nullptr);
      }
    }
  }

  static void end(thread_end_task* task) noexcept {
    auto* const thread = static_cast<registered_thread*>(task);
    own_pool_seats = unregistered_seats;
    self = nullptr;
    is_over = true;
    for (std::size_t number = 0; number < pool_seats; ++number) {
      if (pool_magazine* const magazine = thread->magazines[number]) {
        const pool_seat& seat = thread->seats[number];
        give_back(seat.pool, magazine->bottom(), static_cast<std::size_t>(seat.top - magazine->bottom()));
        process_heap().deallocate(magazine, sizeof(pool_magazine), alignof(pool_magazine));
      }
    }
    process_heap().deallocate(thread, sizeof(registered_thread), alignof(registered_thread));
  }

  /// Gives the calling thread its seats. Returns false without memory, or when the thread is ending.
  static bool register_thread() noexcept {
    void* const memory =
        is_over ? nullptr : process_heap().try_allocate(sizeof(registered_thread), alignof(registered_thread));
    if (memory == nullptr) return false;
    auto* const thread = ::new (memory) registered_thread;
    thread->run = end;
    if (!at_thread_end(*thread)) {
      is_over = true;
      process_heap().deallocate(thread, sizeof(registered_thread), alignof(registered_thread));
      return false;
    }
    self = thread;
    own_pool_seats = thread->seats;
    return true;
  }

  /// Returns the calling thread's seat in a pool, or null when it can have none.
  struct seat_access {
    pool_seat* seat = nullptr;
    pool_magazine* magazine = nullptr;
    std::uint8_t* batch = nullptr;
  };
  static seat_access seat_in(const shared_blocks& pool) noexcept {
    const std::size_t seat_number = pool.seat_;
    if (seat_number == last_seat || pool.is_guarded_ || (self == nullptr && !register_thread())) {
      return {};
    }
    pool_magazine*& magazine = self->magazines[seat_number];
    if (magazine == nullptr) {
      void* const memory = process_heap().try_allocate(sizeof(pool_magazine), alignof(pool_magazine));
      if (memory == nullptr) {
        return {};
      }
      magazine = ::new (memory) pool_magazine;
      magazine->slots[0] = nullptr;
    }
    pool_seat& seat = self->seats[seat_number];
    if (seat.pool != pool.id_) {  // the seat belongs to a destroyed pool, or to none
      seat = {.pool = pool.id_, .top = magazine->bottom()};
      self->batches[seat_number] = first_batch;
    }
    return {&seat, magazine, &self->batches[seat_number]};
  }
};

shared_blocks::shared_blocks(std::size_t bytes, std::size_t alignment, const pool_options& options)
    : depot_(bytes, alignment, [&] {
        pool_options own_options = options;
        own_options.upstream = own_options.upstream != nullptr ? own_options.upstream : &process_heap();
        return own_options;
      }()) {
  is_guarded_ = depot_.is_guarded();
  shared_pools::add(*this);
}

shared_blocks::~shared_blocks() { shared_pools::remove(*this); }

void* shared_blocks::allocate_slow() {
  void* const block = try_allocate_slow(__builtin_return_address(0));
  if (block == nullptr) depot_.refuse();
  return block;
}

void* shared_blocks::try_allocate_slow() noexcept { return try_allocate_slow(__builtin_return_address(0)); }
void* shared_blocks::try_allocate_slow(const void* site) noexcept {
  void* block = nullptr;
  const auto [seat, magazine, batch] = shared_pools::seat_in(*this);
  if (seat != nullptr) {
    const hold guard(lock_);
    seat->top = magazine->bottom() + depot_.take_many(magazine->bottom(), std::min<std::size_t>(*batch, half), site);
    *batch = static_cast<std::uint8_t>(std::min<std::size_t>(2 * *batch, half));
    if (seat->top != magazine->bottom()) block = *--seat->top;
  } else {
    const hold guard(lock_);
    depot_.take_many(&block, 1, site);
  }
  if (block != nullptr) note_taken(block);
  return block;
}

void shared_blocks::deallocate_slow(void* block) noexcept { deallocate_slow(block, __builtin_return_address(0)); }
void shared_blocks::deallocate_slow(void* block, const void* site) noexcept {
  const auto [seat, magazine, batch] = shared_pools::seat_in(*this);
  if (seat == nullptr) {
    const hold guard(lock_);
    depot_.give_many(&block, 1, site);
    return;
  }
  if (seat->top == magazine->end()) {  // the older half goes
    void** const bottom = magazine->bottom();
    {
      const hold guard(lock_);
      depot_.give_many(bottom, half, site);
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
