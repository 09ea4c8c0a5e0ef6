#include "record/threads.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "record/memory.hpp"
#include "record/region.hpp"

namespace tarn::record {
namespace {

constexpr std::uint32_t first_cells = 8, most_cells = 1024;  // of a chunk

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
  }
  return current;
}

bool thread::set_up(std::uint32_t number) noexcept {
  const format::offset made_at = hand_out(sizeof(format::thread_record));
  if (made_at == 0) return false;
  number_ = number;
  record_ = at<format::thread_record>(made_at);
  record_->image = image();
  record_->id = static_cast<std::uint32_t>(::gettid());
  header().thread_at[number].store(made_at, std::memory_order_release);
  return grow();
}

bool thread::grow() noexcept {
  const std::size_t wanted = places_ == 0 ? 32 : places_ * 2;
  auto* const made = static_cast<struct place*>(take(wanted * sizeof(struct place)));
  if (made == nullptr) return false;
  for (std::size_t old = 0; old < places_; ++old) {
    if (index_[old].at == nullptr) continue;
    std::size_t to = index_[old].key * 0x9e3779b97f4a7c15ULL >> 32;
    while (made[to & (wanted - 1)].at != nullptr) ++to;
    made[to & (wanted - 1)] = index_[old];
  }
  index_ = made;
  places_ = wanted;
  return true;
}

format::cell* thread::add(std::uint64_t wanted_key) noexcept {
  if (chunk_ == nullptr || chunk_->used.load(std::memory_order_relaxed) == chunk_->capacity) {
    const std::uint32_t wanted = chunk_ == nullptr               ? first_cells
                                 : chunk_->capacity < most_cells ? chunk_->capacity * 2
                                                                 : most_cells;
    const format::offset made_at = hand_out(sizeof(format::chunk) + wanted * sizeof(format::cell));
    if (made_at == 0) return nullptr;
    auto* const made = at<format::chunk>(made_at);
    made->capacity = wanted;
    // Release: a reader that finds the chunk finds its capacity.
    (chunk_ == nullptr ? record_->cells : chunk_->next).store(made_at, std::memory_order_release);
    chunk_ = made;
  }
  const std::uint32_t number = chunk_->used.load(std::memory_order_relaxed);
  auto* const made = reinterpret_cast<format::cell*>(chunk_ + 1) + number;
  made->key.store(wanted_key, std::memory_order_relaxed);
  chunk_->used.store(number + 1, std::memory_order_release);  // a reader that counts the cell finds its key
  return made;
}

format::cell* thread::cell_of(std::uint32_t site, std::uint32_t owner) noexcept {
  const std::uint64_t wanted = format::cell_key(site, owner);
  std::size_t to = wanted * 0x9e3779b97f4a7c15ULL >> 32;
  for (;; ++to) {
    const struct place& each = index_[to & (places_ - 1)];
    if (each.at == nullptr) break;
    if (each.key == wanted) [[likely]]
      return each.at;
  }
  if (used_ * 2 >= places_) {
    if (!grow()) return nullptr;
    to = wanted * 0x9e3779b97f4a7c15ULL >> 32;
    while (index_[to & (places_ - 1)].at != nullptr) ++to;
  }
  format::cell* const made = add(wanted);
  if (made == nullptr) return nullptr;
  index_[to & (places_ - 1)] = {wanted, made};
  ++used_;
  return made;
}

void thread::count_unknown() noexcept { record::add(record_->unknown, 1); }
void thread::count_forgotten() noexcept { record::add(record_->forgotten, 1); }

std::uint32_t threads_so_far() noexcept { return so_far.load(std::memory_order_relaxed); }
std::uint32_t threads_running() noexcept { return running.load(std::memory_order_relaxed); }

}  // namespace tarn::record
