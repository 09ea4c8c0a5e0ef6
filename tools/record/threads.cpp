#include "record/threads.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "format/clock.hpp"
#include "record/memory.hpp"
#include "record/region.hpp"

namespace tarn::record {
namespace {

// initial-exec (cmake says so): a look-up that allocates would come back here.
constinit thread_local thread* current = nullptr;

constinit lock sharing;
constinit thread* shared = nullptr;  // of the threads beyond the limit

constinit std::atomic<std::uint32_t> so_far = 0;
constinit std::atomic<std::uint32_t> running = 0;

constinit lock making_key;
constinit bool key_made = false;
constinit pthread_key_t key = 0;

}  // namespace

constinit thread_local format::thread_record* own_counts = nullptr;

// Among the last things that a thread does. Its counts stay, and what it still allocates and frees is counted.
void thread::end(void* of) noexcept {
  running.fetch_sub(1, std::memory_order_relaxed);
  unmap(std::exchange(static_cast<thread*>(of)->stacks_, nullptr), sizeof(known_stacks));
}

void thread::watch_end() noexcept {
  const int before = errno;
  {
    const holding held(making_key);
    if (!key_made) key_made = ::pthread_key_create(&key, end) == 0;
  }
  if (key_made) ::pthread_setspecific(key, this);
  errno = before;
}

thread* thread::own() noexcept {
  thread* const mine = current;
  return mine != nullptr ? mine : make();
}

thread* thread::make() noexcept {
  std::uint32_t number = header().threads.load(std::memory_order_relaxed);
  while (number < format::most_threads &&
         !header().threads.compare_exchange_weak(number, number + 1, std::memory_order_relaxed)) {
  }
  if (number < format::most_threads) {
    auto* const made = static_cast<thread*>(take(sizeof(thread)));
    if (made == nullptr || !made->set_up(number)) return nullptr;
    current = made;
  } else {
    const holding held(sharing);
    if (shared == nullptr) {
      auto* const made = static_cast<thread*>(take(sizeof(thread)));
      if (made == nullptr || !made->set_up(format::most_threads)) return nullptr;
      shared = made;
    }
    current = shared;
  }
  so_far.fetch_add(1, std::memory_order_relaxed);
  running.fetch_add(1, std::memory_order_relaxed);
  current->watch_end();
  if (current != shared) {
    current->stack_ = own_stack();  // it may allocate, and finds `current` then
    current->stacks_ = static_cast<known_stacks*>(map(sizeof(known_stacks)));
    own_counts = current->record_;  // from now on malloc need not look further
  }
  return current;
}

bool thread::set_up(std::uint32_t number) noexcept {
  const format::offset made_at = hand_out(sizeof(format::thread_record));
  if (made_at == 0) return false;
  number_ = number;
  record_ = at<format::thread_record>(made_at);
  record_->image = image();
  // A first distance of its own, so that many threads that allocate little are sampled as one that allocates much.
  if (const std::uint64_t interval = header().interval; interval != 0) {
    points.set_up(interval, format::ticks() + number);
    const std::int64_t first = points.next();
    record_->until.store(first, std::memory_order_relaxed);
    record_->drawn.store(first, std::memory_order_relaxed);
  }
  record_->id = static_cast<std::uint32_t>(::gettid());
  header().thread_at[number].store(made_at, std::memory_order_release);
  return true;
}

format::cell* thread::cell_of(std::uint32_t site, std::uint32_t owner) noexcept {
  const std::uint64_t wanted = format::cell_key(site, owner);
  return cells_.find_or_add(wanted, record_->cells[format::heap_kind],
                            [&](format::cell& made) { made.key.store(wanted, std::memory_order_relaxed); });
}

format::call_cell* thread::call_cell_of(std::uint32_t site, std::uint32_t number) noexcept {
  const std::uint64_t wanted = format::cell_key(site, number);
  return calls_.find_or_add(wanted, record_->cells[format::call_kind],
                            [&](format::call_cell& made) { made.key.store(wanted, std::memory_order_relaxed); });
}

format::lock_cell* thread::lock_cell_of(std::uint32_t site, std::uint32_t of_lock) noexcept {
  const std::uint64_t wanted = format::cell_key(site, of_lock);
  return locks_.find_or_add(wanted, record_->cells[format::lock_kind],
                            [&](format::lock_cell& made) { made.key.store(wanted, std::memory_order_relaxed); });
}

format::wait_cell* thread::wait_cell_of(std::uint32_t site, std::uint32_t of_lock, std::uint64_t holder) noexcept {
  const std::uint64_t wanted = format::cell_key(site, of_lock);
  // Two of them are told apart by 64 bits that are mixed from 128.
  const std::uint64_t mixed = (wanted ^ (holder * 0x9fb21c651e98df25ULL)) * 0x9fb21c651e98df25ULL;
  return waits_.find_or_add(mixed ^ mixed >> 32, record_->cells[format::wait_kind], [&](format::wait_cell& made) {
    made.key.store(wanted, std::memory_order_relaxed);
    made.holder.store(holder, std::memory_order_relaxed);
  });
}

void thread::count_unknown() noexcept { record::add(record_->unknown, 1); }
void thread::count_forgotten() noexcept { record::add(record_->forgotten, 1); }

std::uint32_t threads_so_far() noexcept { return so_far.load(std::memory_order_relaxed); }
std::uint32_t threads_running() noexcept { return running.load(std::memory_order_relaxed); }

}  // namespace tarn::record
