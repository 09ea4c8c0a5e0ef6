#include "profiler/preload/threads.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/locks.hpp"
#include "profiler/preload/peak.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/substitute.hpp"

namespace tarn::preload {
namespace {

constexpr std::uint32_t few_walks = 16;

constinit lock sharing;
constinit thread* shared = nullptr;  // shared by the threads beyond the limit

// The threads that have ended. A new thread gets the memory of one only when the kernel no longer knows that thread,
// because until then it may have further events. That is known without a question where the new thread has the same
// thread pointer: the C library gives a stack to another thread only when the kernel has cleared the number of the one
// before.
constinit lock keeping_ended;
constinit thread* first_ended = nullptr;
constinit thread* last_ended = nullptr;
constinit std::atomic<bool> may_ask = true;

// Returns true if the kernel knows no such thread. If a new thread has got the number, the memory is not reused, which
// is harmless.
bool has_gone(std::uint32_t id) noexcept { return id != 0 && own_call(SYS_tgkill, process_number(), id, 0) == -ESRCH; }

// Until a thread sets a name, all threads have the name of the process, and the kernel is asked for one in 64 only: a
// name may also be set by an instruction of the program's own, or through /proc.
constexpr std::uint32_t threads_between_names = 64;
constinit std::atomic<bool> names_differ = false;
constinit std::atomic<std::uint32_t> ended_threads = 0;
constinit std::array<std::atomic<std::uint64_t>, 2> common_name = {};

std::array<std::uint64_t, 2> own_name() noexcept {
  const bool is_asked = ended_threads.fetch_add(1, std::memory_order_relaxed) % threads_between_names == 0;
  std::array<std::uint64_t, 2> name = {common_name[0].load(std::memory_order_acquire),
                                       common_name[1].load(std::memory_order_relaxed)};
  if (!is_asked && name[0] != 0 && !names_differ.load(std::memory_order_relaxed)) return name;
  const std::array<std::uint64_t, 2> known_name = std::exchange(name, {});
  own_call(SYS_prctl, PR_GET_NAME, name.data());
  if (known_name[0] == 0) {
    common_name[1].store(name[1], std::memory_order_relaxed);
    common_name[0].store(name[0], std::memory_order_release);
  } else if (name != known_name) {
    note_thread_name();
  }
  return name;
}

constinit std::atomic<std::uint32_t> so_far = 0;
constinit std::atomic<std::uint32_t> running = 0;

constinit thread_local stack_limits noted_stack = {};
constinit thread_local unsigned long_ways = 0;  // slow paths that were taken and not left

// Its destructor runs at a thread's end. The values of the first 32 keys lie in the thread itself; setting one of a
// later key allocates, so such a key is not used.
constinit pthread_key_t end_key = 0;
constinit bool has_end_key = false;
constexpr pthread_key_t keys_in_thread = 32;

// Holds the offset from the thread pointer at which the C library keeps the kernel's id of a thread, as it tells
// debuggers (libthread_db); 0: unknown. A filter of system calls may end a program that asks the kernel instead.
constinit std::size_t id_at = 0;

std::uint32_t kept_id() noexcept {
  const char* const thread = reinterpret_cast<const char*>(::pthread_self());
  return *reinterpret_cast<const std::uint32_t*>(thread + id_at);
}
void find_id() noexcept {
  // The C library describes the field by its bits, its count and its offset.
  const auto* const field = static_cast<const std::uint32_t*>(::dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid"));
  if (field == nullptr || field[0] != 32 || field[1] != 1) return;
  id_at = field[2];
  if (kept_id() != static_cast<std::uint32_t>(raw_call(SYS_gettid))) id_at = 0;
}
std::uint32_t own_id() noexcept {
  if (id_at != 0) return kept_id();
  const long id = own_call(SYS_gettid);
  return id < 0 ? 0 : static_cast<std::uint32_t>(id);
}

// Guesses the stack of a thread that was not started by pthread_create(): the stack ends where the C library keeps
// the thread's own data. It is only the fallback.
stack_limits guessed_stack(std::uintptr_t stack) noexcept {
  constexpr std::uintptr_t usual = std::uintptr_t{8} << 20;
  const auto stack_end = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  return stack < stack_end && stack_end - stack < usual ? stack_limits{stack_end - usual, stack_end} : stack_limits{};
}

}  // namespace

constinit thread_local thread* thread::current_ = nullptr;

constinit thread_local format::thread_record* own_counts = nullptr;

constinit thread_local format::thread_record* known_counts = nullptr;

constinit thread_local thread* plain_thread = nullptr;

constinit thread_local thread* sampled_locker = nullptr;

// The thread's counts stay, and its later events are still counted.
void thread::end() noexcept {
  const work_timer timer(format::thread_ticks);
  running.fetch_sub(1, std::memory_order_relaxed);
  if (!is_recorded()) return;  // a filter of system calls that was set since then is not known
  if (this != shared) {
    record_->wait.since.store(0, std::memory_order_relaxed);  // the wait was cancelled
    record_->call.since.store(0, std::memory_order_relaxed);
    const std::array<std::uint64_t, 2> name = own_name();
    record_->name[1].store(name[1], std::memory_order_relaxed);
    record_->name[0].store(name[0], std::memory_order_release);  // release: no reader finds a name without its end
  }
  const std::int64_t unsent = std::exchange(unsent_bytes, 0);
  note_peak(header().bytes_in_use.fetch_add(unsent, std::memory_order_relaxed) + unsent);
  unmap(std::exchange(stacks_, nullptr), sizeof(stack_cache));
  unmap(std::exchange(met_codes_, nullptr), sizeof(met_python_codes));
  walks_ = few_walks;
  pending.give_back();
#if defined(__x86_64__)
  give_back_signal_stack();
#endif
  if (this == shared) return;
  end_holds(*this);
  const holding guard(keeping_ended);
  keep_ended();
}

void thread::keep_ended() noexcept {
  next_ended_ = nullptr;
  (last_ended == nullptr ? first_ended : last_ended->next_ended_) = this;
  last_ended = this;
}

// Keeps the memory of its tables' indexes.
void thread::clear() noexcept {
  const auto tables = std::tuple(cells_, calls_, locks_, waits_, violations_, orders_);
  std::memset(static_cast<void*>(this), 0, sizeof *this);
  std::tie(cells_, calls_, locks_, waits_, violations_, orders_) = tables;
  cells_.begin_anew();
  calls_.begin_anew();
  locks_.begin_anew();
  waits_.begin_anew();
  violations_.begin_anew();
  orders_.begin_anew();
}

thread* thread::take_gone() noexcept {
  constexpr int max_looks = 8;
  const holding guard(keeping_ended);
  thread* before = nullptr;
  thread* ended_thread = first_ended;
  for (int looks = 1; ended_thread != nullptr && ended_thread->pointer_ != __builtin_thread_pointer(); ++looks)
    before = std::exchange(ended_thread, looks < max_looks ? ended_thread->next_ended_ : nullptr);
  if (ended_thread != nullptr) {
    (before == nullptr ? first_ended : before->next_ended_) = ended_thread->next_ended_;
    if (last_ended == ended_thread) last_ended = before;
    return ended_thread;
  }
  if (first_ended == nullptr || !may_ask.load(std::memory_order_relaxed)) return nullptr;
  ended_thread = std::exchange(first_ended, first_ended->next_ended_);
  if (first_ended == nullptr) last_ended = nullptr;
  if (has_gone(ended_thread->record_->id.load(std::memory_order_relaxed))) return ended_thread;
  ended_thread->keep_ended();  // behind the others: it may take long to go
  return nullptr;
}

thread* thread::take_memory(thread* gone_thread) noexcept {
  if (gone_thread == nullptr) return static_cast<thread*>(take(sizeof(thread)));
  gone_thread->record_->is_gone.store(1, std::memory_order_release);  // release: a reader finds its last counts
  gone_thread->clear();
  return gone_thread;
}

// A row that shows a hold is not passed on, because the next thread does not have that lock.
bool thread::pass_on() noexcept {
  if (header().threads.load(std::memory_order_relaxed) <= format::ended_threads) return false;
  for (const format::open_use& hold : record_->holds) {
    if (hold.since.load(std::memory_order_relaxed) != 0) return false;
  }
  record_->name[0].store(0, std::memory_order_relaxed);
  record_->id.store(own_id(), std::memory_order_relaxed);
  preload::add(record_->predecessors, 1);
  allocations_before_ = record_->allocations.load(std::memory_order_relaxed);
  pointer_ = __builtin_thread_pointer();
  stack_ = {};
  walks_ = 0;
  ends_in_call_ = false;
  next_ended_ = nullptr;
  locks.forget_all();
  semaphores = {};
  trace = {};
  trace.set_up(format::max_excerpted);  // an excerpt has the events of one thread
  return true;
}

// The first thread behind those with rows of their own also makes the row of ended threads.
std::uint32_t thread::take_number() noexcept {
  for (;;) {
    std::uint32_t number = header().threads.load(std::memory_order_relaxed);
    while (number < format::max_threads &&
           !header().threads.compare_exchange_weak(number, number + 1, std::memory_order_relaxed)) {
    }
    if (number != format::ended_threads) return number;
    const format::offset offset = hand_out(sizeof(format::thread_record));
    if (offset == 0) continue;
    auto& record = *record_at<format::thread_record>(offset);
    record.image = image();
    constexpr char name[sizeof record.name] = "ended threads";
    std::array<std::uint64_t, 2> name_words;
    std::memcpy(name_words.data(), name, sizeof name);
    record.name[0].store(name_words[0], std::memory_order_relaxed);
    record.name[1].store(name_words[1], std::memory_order_relaxed);
    record.is_gone.store(1, std::memory_order_relaxed);
    header().thread_at[number].store(offset, std::memory_order_release);
  }
}

void ask_for_no_thread() noexcept { may_ask.store(false, std::memory_order_relaxed); }
void note_thread_name() noexcept { names_differ.store(true, std::memory_order_relaxed); }

// A child that was forked without the handlers of fork may be recorded later: the key that it has inherited leads to
// threads that count for its parent.
void prepare_threads() noexcept {
  find_id();
  if (has_end_key) ::pthread_key_delete(end_key);
  has_end_key = ::pthread_key_create(&end_key, thread::end_of_key) == 0 && end_key < keys_in_thread;
  thread::note_stack(main_stack());
}

void thread::note_stack(const stack_limits& limits) noexcept {
  noted_stack = limits;
  if (current_ != nullptr && current_ != shared) current_->stack_ = limits;
}

void thread::note_begin(const stack_limits& limits) noexcept {
  note_stack(limits);
  if (!is_attached() || !is_recorded()) return;
  const std::uint64_t number = header().started_threads.fetch_add(1, std::memory_order_relaxed);
  format::thread_stack& stack = header().thread_stacks[number % format::max_stacks];
  // A reader between these stores may take other memory for a part of this stack, or the reverse.
  stack.low.store(limits.low, std::memory_order_relaxed);
  stack.high.store(limits.high, std::memory_order_relaxed);
  stack.id.store(own_id(), std::memory_order_relaxed);
}

// Without sampling each block is counted, so none may skip the recorder, and own_counts stays null.
void thread::choose_path() noexcept {
  own_counts = nullptr;
  plain_thread = nullptr;
  if (long_ways != 0 || known_counts == nullptr) return;
  if (header().interval != 0) {
    own_counts = known_counts;
  } else {
    plain_thread = current_;
  }
}
void enter_slow_path() noexcept {
  ++long_ways;
  thread::choose_path();
}
void leave_slow_path() noexcept {
  --long_ways;
  thread::choose_path();
}

thread* thread::make() noexcept {
  thread* const new_thread = make_numbered();
  if (new_thread == nullptr) return nullptr;
  if (has_end_key) ::pthread_setspecific(end_key, new_thread);
  if (new_thread != shared && noted_stack.high == 0)
    new_thread->stack_ = guessed_stack(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  new_thread->be_known();
  return new_thread;
}

thread* thread::make_numbered() noexcept {
  const work_timer timer(format::thread_ticks);
  thread* const gone_thread = take_gone();
  const bool has_row = gone_thread != nullptr && gone_thread->pass_on();
  const std::uint32_t number = has_row ? gone_thread->number_ : take_number();
  if (has_row) {
    current_ = gone_thread;
  } else if (number < format::max_threads) {
    thread* const new_thread = take_memory(gone_thread);
    if (new_thread == nullptr || !new_thread->set_up(number)) return nullptr;
    current_ = new_thread;
  } else {
    if (gone_thread != nullptr) {
      const holding guard(keeping_ended);
      gone_thread->keep_ended();
    }
    const holding guard(sharing);
    if (shared == nullptr) {
      auto* const new_thread = static_cast<thread*>(take(sizeof(thread)));
      if (new_thread == nullptr || !new_thread->set_up(format::max_threads)) return nullptr;
      shared = new_thread;
    }
    current_ = shared;
  }
  so_far.fetch_add(1, std::memory_order_relaxed);
  running.fetch_add(1, std::memory_order_relaxed);
  if (current_ != shared) current_->stack_ = noted_stack;
  return current_;
}

// Lets the hooks of malloc and of locks find the thread without a further look-up, where these are recorded.
void thread::be_known() noexcept {
  if (this == shared) return;
  if ((header().sources & format::source_bit(format::lock_kind)) != 0 && header().interval != 0) sampled_locker = this;
  if ((header().sources & format::source_bit(format::heap_kind)) == 0) return;
  known_counts = record_;
  choose_path();
}

thread* thread::current_in_signal(std::uintptr_t stack) noexcept {
  if (current_ != nullptr) return current_;
  thread* const new_thread = make_numbered();
  if (new_thread == nullptr || new_thread == shared) return new_thread;
  new_thread->ends_in_call_ = true;
  new_thread->be_known();
  if (noted_stack.high == 0) new_thread->stack_ = guessed_stack(stack);
  return new_thread;
}

void thread::forget_code() noexcept {
  seen_changes_ = module_changes.load(std::memory_order_acquire);
  samples_of_locks.forget_pairs();
  if (stacks_ != nullptr) stacks_->clear();
}

void thread::leave() noexcept {
  if (this == shared) return;
  if (ends_in_call_) {
    end();
  } else {
    pending.give_back();
  }
}

void thread::note_walk() noexcept {
  if (this == shared || walks_ == few_walks || ++walks_ != few_walks) return;
  stacks_ = static_cast<stack_cache*>(map(sizeof(stack_cache)));
}

void thread::outlive_dispatch() noexcept {
  if (current_ == nullptr || current_ == shared || !current_->ends_in_call_ || !has_end_key) return;
  current_->ends_in_call_ = ::pthread_setspecific(end_key, current_) != 0;
}

void thread::begin_lock_samples() noexcept {
  if (header().interval == 0) return;
  const std::uint64_t now = clock_ticks();
  samples_of_locks.set_up(now ^ reinterpret_cast<std::uintptr_t>(this));
  samples_of_waits.set_up(now + reinterpret_cast<std::uintptr_t>(this));
}

// It has lost sight of the locks that it held. While no locks were recorded, it chose to skip the next billion.
void thread::begin_attachment() noexcept {
  locks = {};
  semaphores = {};
  begin_lock_samples();
  be_known();
}

bool thread::set_up(std::uint32_t number) noexcept {
  const format::offset made_at = hand_out(sizeof(format::thread_record));
  if (made_at == 0) return false;
  number_ = number;
  pointer_ = __builtin_thread_pointer();
  record_ = record_at<format::thread_record>(made_at);
  record_->image = image();
  for (timed_turns* const turns : {&timed_allocations, &timed_frees}) turns->set_up(number);
  for (counting_turns* const turns : {&timed_python_reads, &timed_acquisitions, &timed_releases}) turns->set_up(number);
  // Each thread draws its first distance, so that many threads that allocate little are sampled as often as one that
  // allocates much.
  if (const std::uint64_t interval = header().interval; interval != 0) {
    samples.set_up(interval, clock_ticks() + number);
    const std::int64_t first = samples.next();
    record_->until_sample.store(first, std::memory_order_relaxed);
    record_->drawn_sum.store(first, std::memory_order_relaxed);
  }
  begin_lock_samples();
  trace.set_up(number);
  record_->id.store(own_id(), std::memory_order_relaxed);
  header().thread_at[number].store(made_at, std::memory_order_release);
  return true;
}

format::call_cell* thread::call_cell_of(std::uint32_t site, std::uint32_t number) noexcept {
  const std::uint64_t key = format::cell_key(site, number);
  return calls_.find_or_add(key, record_->cells[format::call_kind],
                            [&](format::call_cell& cell) { cell.key.store(key, std::memory_order_relaxed); });
}

namespace {

bool has_room(const std::atomic<std::uint32_t>& cells) noexcept {
  return cells.load(std::memory_order_relaxed) < format::max_lock_cells;
}

}  // namespace

format::lock_cell* thread::add_lock_cell(std::uint32_t site, lock_entry& lock) noexcept {
  const bool has_cell = has_room(header().lock_cells);
  const std::uint64_t key =
      format::cell_key(site, has_cell ? lock.number.load(std::memory_order_relaxed) : sum_number_of(lock));
  return locks_.find_or_add(key, record_->cells[format::lock_kind], [&](format::lock_cell& cell) {
    cell.key.store(key, std::memory_order_relaxed);
    if (has_cell) header().lock_cells.fetch_add(1, std::memory_order_relaxed);
  });
}

format::wait_cell* thread::wait_cell_of(std::uint32_t site, std::uint32_t lock_number, std::uint64_t holder) noexcept {
  const std::uint64_t key = format::cell_key(site, lock_number);
  // The key is 64 bits that are mixed from 128; they tell two cells apart.
  const std::uint64_t mixed = (key ^ (holder * 0x9fb21c651e98df25ULL)) * 0x9fb21c651e98df25ULL;
  const std::uint64_t mixed_key = mixed ^ mixed >> 32;
  if (!has_room(header().wait_cells)) return waits_.find(mixed_key);
  return waits_.find_or_add(mixed_key, record_->cells[format::wait_kind], [&](format::wait_cell& cell) {
    header().wait_cells.fetch_add(1, std::memory_order_relaxed);
    cell.key.store(key, std::memory_order_relaxed);
    cell.holder.store(holder, std::memory_order_relaxed);
  });
}

format::order_cell* thread::order_cell_of(std::uint64_t key, std::uint64_t held_key, std::uint32_t gate) noexcept {
  constexpr std::uint64_t factor = 0x9fb21c651e98df25ULL;
  const std::uint64_t mixed = ((key ^ (held_key * factor)) * factor ^ gate) * factor;
  const std::uint64_t mixed_key = mixed ^ mixed >> 32;
  if (format::order_cell* const cell = orders_.find(mixed_key)) return cell;
  if (orders_.size() >= format::max_orders || !has_room(header().order_cells) ||
      is_of_several(static_cast<std::uint32_t>(key)) || is_of_several(static_cast<std::uint32_t>(held_key)))
    key = held_key = gate = 0;
  return orders_.find_or_add(key == 0 ? 0 : mixed_key, record_->cells[format::order_kind],
                             [&](format::order_cell& cell) {
                               header().order_cells.fetch_add(1, std::memory_order_relaxed);
                               cell.key.store(key, std::memory_order_relaxed);
                               cell.held_key.store(held_key, std::memory_order_relaxed);
                               cell.gate.store(gate, std::memory_order_relaxed);
                             });
}

format::violation_cell* thread::violation_cell_of(std::uint32_t site, std::uint32_t region) noexcept {
  const std::uint64_t key = format::cell_key(site, region);
  return violations_.find_or_add(key, record_->cells[format::violation_kind],
                                 [&](format::violation_cell& cell) { cell.key.store(key, std::memory_order_relaxed); });
}

void thread::count_unknown() noexcept { preload::add(record_->unknown, 1); }
void thread::count_dropped() noexcept { preload::add(record_->dropped, 1); }

void thread::forget_own() noexcept {
  current_ = plain_thread = sampled_locker = nullptr;
  own_counts = known_counts = nullptr;
  long_ways = 0;
}

void begin_threads_anew() noexcept {
  sharing.begin_anew();
  keeping_ended.begin_anew();
  first_ended = last_ended = shared = nullptr;
  thread::forget_own();
  so_far.store(0, std::memory_order_relaxed);
  running.store(0, std::memory_order_relaxed);
}

std::uint32_t threads_so_far() noexcept { return so_far.load(std::memory_order_relaxed); }
std::uint32_t threads_running() noexcept { return running.load(std::memory_order_relaxed); }

}  // namespace tarn::preload
