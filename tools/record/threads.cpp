#include "record/threads.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include "format/clock.hpp"
#include "record/memory.hpp"
#include "record/raw_call.hpp"
#include "record/region.hpp"

namespace tarn::record {
namespace {

constinit lock sharing;
constinit thread* shared = nullptr;  // of the threads beyond the limit

constinit std::atomic<std::uint32_t> so_far = 0;
constinit std::atomic<std::uint32_t> running = 0;

// Of the threads that began last. The one that begins finds its own by its stack pointer; the words are mostly of one
// thread, and where they are not, the stack is cut short.
struct expected_stack {
  std::atomic<std::uintptr_t> low, high;
};
constinit std::array<expected_stack, 512> expected_stacks = {};

constinit lock making_key;
constinit bool key_made = false;
constinit thread_local unsigned long_ways = 0;  // that were taken and not left
constinit pthread_key_t key = 0;

}  // namespace

constinit thread_local thread* thread::current_ = nullptr;

constinit thread_local format::thread_record* own_counts = nullptr;

constinit thread_local format::thread_record* known_counts = nullptr;

constinit thread_local thread* plain_thread = nullptr;

constinit thread_local bool calls_for_itself = false;

// Its counts stay, and what it still does is counted.
void thread::end() noexcept {
  running.fetch_sub(1, std::memory_order_relaxed);
  if (this != shared) {
    std::array<std::uint64_t, 2> name = {};
    raw_call(SYS_prctl, PR_GET_NAME, name.data());
    record_->name[1].store(name[1], std::memory_order_relaxed);
    record_->name[0].store(name[0], std::memory_order_release);  // or a reader would find a name without its end
  }
  unmap(std::exchange(stacks_, nullptr), sizeof(known_stacks));
}

void thread::watch_end() noexcept {
  const int before = errno;
  {
    const holding held(making_key);
    if (!key_made) key_made = ::pthread_key_create(&key, [](void* of) { static_cast<thread*>(of)->end(); }) == 0;
  }
  if (key_made) ::pthread_setspecific(key, this);
  errno = before;
}

// Where each block is counted, none is passed by.
void thread::choose_way() noexcept {
  own_counts = nullptr;
  plain_thread = nullptr;
  if (long_ways != 0 || known_counts == nullptr) return;
  if (header().interval != 0) {
    own_counts = known_counts;
  } else {
    plain_thread = current_;
  }
}
void take_long_way() noexcept {
  ++long_ways;
  thread::choose_way();
}
void leave_long_way() noexcept {
  --long_ways;
  thread::choose_way();
}

thread* thread::make() noexcept {
  thread* const made = make_without_limits();
  if (made == nullptr) return nullptr;
  calls_for_itself = true;
  made->watch_end();
  if (made != shared) made->stack_ = own_stack();  // it may allocate, and finds `current_` then
  calls_for_itself = false;
  made->be_known();
  return made;
}

thread* thread::make_without_limits() noexcept {
  std::uint32_t number = header().threads.load(std::memory_order_relaxed);
  while (number < format::most_threads &&
         !header().threads.compare_exchange_weak(number, number + 1, std::memory_order_relaxed)) {
  }
  if (number < format::most_threads) {
    auto* const made = static_cast<thread*>(take(sizeof(thread)));
    if (made == nullptr || !made->set_up(number)) return nullptr;
    current_ = made;
  } else {
    const holding held(sharing);
    if (shared == nullptr) {
      auto* const made = static_cast<thread*>(take(sizeof(thread)));
      if (made == nullptr || !made->set_up(format::most_threads)) return nullptr;
      shared = made;
    }
    current_ = shared;
  }
  so_far.fetch_add(1, std::memory_order_relaxed);
  running.fetch_add(1, std::memory_order_relaxed);
  if (current_ != shared) current_->stacks_ = static_cast<known_stacks*>(map(sizeof(known_stacks)));
  return current_;
}

// From now on malloc need not look further, where the heap is recorded.
void thread::be_known() noexcept {
  if (this == shared || (header().sources & format::source_bit(format::heap_kind)) == 0) return;
  known_counts = record_;
  choose_way();
}

thread* thread::own_in_signal(std::uintptr_t stack) noexcept {
  if (current_ != nullptr) return current_;
  thread* const made = make_without_limits();
  if (made == nullptr || made == shared) return made;
  made->ends_in_call_ = true;
  made->be_known();
  for (expected_stack& each : expected_stacks) {
    const stack_limits there{each.low.load(std::memory_order_relaxed), each.high.load(std::memory_order_relaxed)};
    if (there.low != 0 && stack > there.low && stack <= there.high) made->stack_ = there;
  }
  if (made->stack_.high == 0) {  // too many began at once: the C library keeps what is the thread's own above its stack
    constexpr std::uintptr_t usual = std::uintptr_t{8} << 20;
    const auto above = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    if (stack < above && above - stack < usual) made->stack_ = {above - usual, above};
  }
  return made;
}

void thread::expect(stack_limits of_new_one) noexcept {
  static constinit std::atomic<std::uint32_t> next = 0;
  expected_stack& place = expected_stacks[next.fetch_add(1, std::memory_order_relaxed) % expected_stacks.size()];
  place.low.store(0, std::memory_order_relaxed);
  place.high.store(of_new_one.high, std::memory_order_relaxed);
  place.low.store(of_new_one.low, std::memory_order_relaxed);
}

void thread::leave() noexcept {
  if (this == shared) return;
  pending.give_back();
  if (ends_in_call_) end();
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
  part.set_up(number);
  record_->id = static_cast<std::uint32_t>(raw_call(SYS_gettid));
  header().thread_at[number].store(made_at, std::memory_order_release);
  return true;
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

format::order_cell* thread::order_cell_of(std::uint64_t wanted, std::uint64_t held, std::uint32_t gate) noexcept {
  constexpr std::uint64_t factor = 0x9fb21c651e98df25ULL;
  const std::uint64_t mixed = ((wanted ^ (held * factor)) * factor ^ gate) * factor;
  const std::uint64_t wanted_key = mixed ^ mixed >> 32;
  if (format::order_cell* const found = orders_.find(wanted_key)) return found;
  if (orders_.size() >= format::most_orders) wanted = held = gate = 0;
  return orders_.find_or_add(wanted == 0 ? 0 : wanted_key, record_->cells[format::order_kind],
                             [&](format::order_cell& made) {
                               made.key.store(wanted, std::memory_order_relaxed);
                               made.held.store(held, std::memory_order_relaxed);
                               made.gate.store(gate, std::memory_order_relaxed);
                             });
}

format::noise_cell* thread::noise_cell_of(std::uint32_t site, std::uint32_t region) noexcept {
  const std::uint64_t wanted = format::cell_key(site, region);
  return noises_.find_or_add(wanted, record_->cells[format::noise_kind],
                             [&](format::noise_cell& made) { made.key.store(wanted, std::memory_order_relaxed); });
}

void thread::count_unknown() noexcept { record::add(record_->unknown, 1); }
void thread::count_forgotten() noexcept { record::add(record_->forgotten, 1); }

void thread::forget_all() noexcept { current_ = shared = plain_thread = nullptr; }

void begin_threads_anew() noexcept {
  sharing.begin_anew();
  making_key.begin_anew();
  thread::forget_all();
  own_counts = known_counts = nullptr;
  long_ways = 0;
  so_far.store(0, std::memory_order_relaxed);
  running.store(0, std::memory_order_relaxed);
}

std::uint32_t threads_so_far() noexcept { return so_far.load(std::memory_order_relaxed); }
std::uint32_t threads_running() noexcept { return running.load(std::memory_order_relaxed); }

}  // namespace tarn::record
