#include "profiler/preload/windows.hpp"

#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "profiler/preload/base/chance.hpp"
#include "profiler/preload/base/kernel_signals.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/dispatch.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/lent_thread.hpp"
#include "profiler/preload/substitute.hpp"
#include "profiler/preload/threads.hpp"

constinit thread_local std::int32_t tarn_steps_left = 0;

namespace tarn::preload {

constinit thread_local call_window own_window = {};

// A child of vfork shares its parent's memory and thread, but not the dispatch. If the program made it by an
// instruction of its own, only its process number tells it from the parent.
bool is_own_process() noexcept {
  if (is_lent()) return false;
  const long number = own_call(SYS_getpid);
  return number < 0 || static_cast<std::uint32_t>(number) == process_number();
}

namespace {

constexpr std::uint64_t min_steps = 4, max_steps = 256, calls_of_block = 4;
// A thread that has nothing to decide asks again after this many steps.
constexpr std::int32_t many_steps = 1 << 16;
constexpr std::uint32_t max_weight = 2048;
constexpr std::uint64_t counts_of_weight = 512;  // until the largest weight doubles
// The weight of threads that begin when the process has used up its full counts. It grows with their number,
// because a window would cost a short thread more time than it runs.
constexpr std::uint32_t first_weight = 16, threads_of_weight = 64;
constexpr std::uint64_t calls_of_thread = 8;  // that a thread makes which only begins and ends
// A dispatched call and a window cost this many nanoseconds in a server, twice what they take in a loop: the caches are
// cold after them. A thread spends at most one nanosecond in 40 of its CPU time on them.
constexpr std::uint64_t call_ns = 2500, window_ns = 5000, inverse_time_share = 40;
// While all calls count, the dispatch would take most of the time of a thread that calls often. After the first calls
// of a process, the calls of such a thread count up to four times towards larger weights.
constexpr std::uint64_t calls_before_pace = 512, calls_of_pace = 16, max_pace = 4;
constexpr std::uint32_t steps_of_pace = 32;
// Past blocks lose this part of their influence on the next ones at each block. With a larger part, a thread that turns
// from many calls to few and back dispatches a long block of many calls each time.
constexpr std::uint64_t inverse_decay = 8;

constinit std::atomic<std::uint64_t> process_counts = 0;

std::uint16_t largest_weight() noexcept {
  return growing_weight(process_counts.load(std::memory_order_relaxed), max_weight, counts_of_weight);
}
constinit std::atomic<bool> dispatches_always = false;
constinit std::atomic<bool> has_begun = false;  // no window opens while the recorder's constructors run
constinit std::atomic<std::uint32_t> begun_threads = 0;

bool has_windows() noexcept {
  return has_begun.load(std::memory_order_relaxed) && detail::has_started.load(std::memory_order_acquire) &&
         is_recorded() && header().interval != 0 && (header().sources & format::source_bit(format::call_kind)) != 0;
}

// The frame of SIGSYS and its handler need more room than small signal stacks have. The wrapper of sigaltstack()
// replaces them; this finds those that the program has set by an instruction of its own.
bool has_small_signal_stack() noexcept {
  stack_t now{};
  if (own_call(SYS_sigaltstack, nullptr, &now) < 0) return false;
  return (now.ss_flags & SS_DISABLE) == 0 && now.ss_size < enough_signal_stack;
}

// Returns false when the dispatch cannot be turned on here.
bool turn_on() noexcept {
  if (own_window.is_dispatched) return true;
  if (has_small_signal_stack()) return false;
  if (!is_restricted()) keep_handler();
  own_window.last_call = ~std::uint64_t{0};
  own_window.is_dispatched = turn_dispatch_on() == 0;
  return own_window.is_dispatched;
}
void turn_off() noexcept {
  if (!own_window.is_dispatched || own_window.is_held) return;
  thread::outlive_dispatch();
  own_window.is_dispatched = turn_dispatch_off() != 0;
}

std::uint64_t random_bits() noexcept {
  random_numbers& random = own_window.random;
  if (!random.is_set_up()) random.set_up(clock_ticks() ^ reinterpret_cast<std::uintptr_t>(&own_window));
  return random.next();
}

void open_block() noexcept {
  own_window.phase = window_phase::open;
  ++own_window.block;
  own_window.dispatched = own_window.children = own_window.siblings = 0;
  tarn_steps_left = static_cast<std::int32_t>(own_window.steps) - 1;
}

void open_for_good() noexcept {
  own_window.weight = 1;
  own_window.phase = turn_on() ? window_phase::open : window_phase::closed;
  ++own_window.block;
  tarn_steps_left = many_steps;
}

// Begins with the next block that is dispatched, which may be the one that begins now.
void begin_gap(std::uint16_t weight) noexcept {
  own_window.weight = weight;
  const std::uint64_t gap = draw_gap(random_bits(), weight) * std::uint64_t{own_window.steps};
  own_window.gap = static_cast<std::uint32_t>(std::min(gap, std::uint64_t{1} << 30));
  if (own_window.gap == 0 && turn_on()) {
    if (own_window.opened_at == 0) own_window.opened_at = processor_nanoseconds();
    return open_block();
  }
  own_window.phase = window_phase::closed;
  turn_off();
  own_window.closed_at = own_window.is_new ? 0 : processor_nanoseconds();
  tarn_steps_left = static_cast<std::int32_t>(own_window.gap) - 2;  // the last step of the gap leads
}

void lead() noexcept {
  own_window.phase = window_phase::leading;
  if (!turn_on()) own_window.phase = window_phase::closed;
  own_window.opened_at = processor_nanoseconds();
  tarn_steps_left = 0;
}

// Returns the part of a block's time that the thread needs without the recorder.
std::uint64_t plain_part(std::uint64_t open_ns, std::uint64_t cost_ns) noexcept {
  return std::max({open_ns > cost_ns ? open_ns - cost_ns : 0, open_ns / 16, std::uint64_t{1}});
}

// Finds how often the thread calls, at the end of a block of calls that all count.
void choose_pace() noexcept {
  const std::uint64_t calls = own_window.dispatched;
  if (process_counts.load(std::memory_order_relaxed) < calls_before_pace || calls < calls_of_pace) {
    own_window.opened_at = 0;
    return;
  }
  const std::uint64_t time = processor_nanoseconds(), cost = calls * call_ns;
  if (own_window.opened_at != 0) {
    const std::uint64_t plain_ns = plain_part(time - own_window.opened_at, cost);
    own_window.pace = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(4 * cost / plain_ns, 1, max_pace));
  }
  own_window.opened_at = time;
}

std::uint64_t decay(std::uint64_t sum) noexcept { return sum - sum / inverse_decay; }

// Chooses the weight and the length of the next blocks.
std::uint16_t next_weight() noexcept {
  call_window& now = own_window;
  const std::uint64_t time = processor_nanoseconds();
  const std::uint64_t calls = now.dispatched + now.children * calls_of_thread;  // children are dispatched, too
  const std::uint64_t cost = now.dispatched * call_ns + window_ns;
  const std::uint64_t open_ns = time - now.opened_at;
  if (now.gap != 0) {  // these steps ran without the recorder's cost
    now.plain_ns = decay(now.plain_ns) + (now.opened_at - now.closed_at);
    now.plain_steps = decay(now.plain_steps) + now.gap;
  } else {
    now.plain_ns = decay(now.plain_ns) + plain_part(open_ns, cost);
    now.plain_steps = decay(now.plain_steps) + now.steps;
  }
  now.opened_at = time;
  now.open_calls = decay(now.open_calls) + calls;
  now.open_steps = decay(now.open_steps) + now.steps;
  now.steps = static_cast<std::uint32_t>(
      std::clamp(calls_of_block * now.open_steps / std::max<std::uint64_t>(now.open_calls, 1), min_steps, max_steps));
  const std::uint64_t next_cost = now.steps * now.open_calls * call_ns / now.open_steps + window_ns;
  const std::uint64_t plain_ns = now.steps * now.plain_ns / now.plain_steps;
  return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(
      inverse_time_share * next_cost / std::max<std::uint64_t>(plain_ns, 1), 1, largest_weight()));
}

void end_block() noexcept {
  if (largest_weight() == 1) {  // the dispatch stays on
    choose_pace();
    own_window.gap = 0;
    own_window.steps = steps_of_pace;
    return open_block();
  }
  if (own_window.opened_at == 0) {  // the first block after those: its time tells what the next ones take
    own_window.opened_at = processor_nanoseconds();
    return open_block();
  }
  begin_gap(next_weight());
}

void begin_thread() noexcept {
  own_window.siblings = 0;
  own_window.steps = min_steps;
  const std::uint32_t begun = begun_threads.fetch_add(1, std::memory_order_relaxed);
  const auto weight = static_cast<std::uint16_t>(
      std::min<std::uint32_t>(std::max(first_weight, begun / threads_of_weight), largest_weight()));
  own_window.opened_at = 0;
  begin_gap(weight);
}

// Returns true if this thread's calls are still dispatched after a recording of system calls has ended, and the thread
// may turn the dispatch off.
bool is_dispatched_in_vain() noexcept {
  return own_window.is_dispatched && detail::has_started.load(std::memory_order_acquire) && is_recorded() &&
         (header().sources & format::source_bit(format::call_kind)) == 0 && !is_restricted() &&
         header().restricted.load(std::memory_order_relaxed) == 0 && is_own_process();
}

void decide() noexcept {
  if (!has_windows() || header().restricted.load(std::memory_order_relaxed) != 0) {
    if (is_dispatched_in_vain()) turn_off();
    tarn_steps_left = many_steps;  // begin_windows() sets it anew where the recording begins later
    return;
  }
  if (!own_window.is_new && !is_own_process()) {
    tarn_steps_left = 0;  // the parent's thread decides at its next hook
    return;
  }
  const work_timer timer(format::window_ticks);
  if (dispatches_always.load(std::memory_order_relaxed) || is_restricted()) return open_for_good();
  switch (own_window.phase) {
    case window_phase::unknown:
    case window_phase::inherited: return begin_thread();
    case window_phase::closed: count_work(format::window_steps, own_window.gap); return lead();
    case window_phase::leading: return open_block();
    case window_phase::open: count_work(format::window_steps, own_window.steps); return end_block();
  }
}

}  // namespace

void begin_windows() noexcept {
  own_window = {};
  has_begun.store(true, std::memory_order_relaxed);
  process_counts.store(0, std::memory_order_relaxed);
  begun_threads.store(0, std::memory_order_relaxed);
  dispatches_always.store(false, std::memory_order_relaxed);
  if (!has_windows()) return;
  own_window.is_dispatched = true;
  own_window.weight = 1;
  own_window.steps = min_steps;
  own_window.last_call = ~std::uint64_t{0};
  open_block();
}

void inherit_window(std::uintptr_t thread_pointer) noexcept {
  if (!has_windows()) return;
  const auto of_thread = [&](auto& variable) -> auto& {
    const auto distance =
        reinterpret_cast<std::uintptr_t>(&variable) - reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    return *reinterpret_cast<std::remove_reference_t<decltype(variable)>*>(thread_pointer + distance);
  };
  call_window& child = of_thread(own_window);
  child = {};
  child.phase = window_phase::inherited;
  child.is_dispatched = true;
  child.weight = window_weight();
  child.siblings = own_window.children++;
  child.last_call = ~std::uint64_t{0};
  of_thread(tarn_steps_left) = 0;
}

void take_first_step() noexcept {
  own_window.is_new = true;
  take_step();
  own_window.is_new = false;
}

void note_dispatched_call() noexcept {
  count_recorded(process_counts, std::max(own_window.pace, std::uint32_t{1}), max_weight, counts_of_weight);
}

void dispatch_always() noexcept { dispatches_always.store(true, std::memory_order_relaxed); }

void keep_window_open() noexcept {
  if (has_windows()) open_for_good();
}

dispatched_calls::dispatched_calls() noexcept : turns_off_(false) {
  if (!has_windows() || !is_own_process()) return;
  if (own_window.phase == window_phase::unknown) tarn_next_window();
  turns_off_ = !own_window.is_dispatched && turn_on();
}
dispatched_calls::~dispatched_calls() {
  if (turns_off_) turn_off();
}

void hold_window() noexcept {
  if (!has_windows() || is_lent()) return;
  if (own_window.phase == window_phase::unknown) tarn_next_window();
  own_window.is_held = turn_on();
}
void release_window() noexcept {
  if (is_lent()) return;
  own_window.is_held = false;
  if (own_window.phase == window_phase::closed && has_windows()) turn_off();
}

}  // namespace tarn::preload

void tarn_next_window() noexcept {
  using namespace tarn::preload;
  // A signal handler's hook may interrupt a decision, which then continues as if there had been no hook. A handler that
  // jumps out leaves a decision unfinished, with a frame below this one or on another stack. On another stack it looks
  // like an interrupted decision, so some hooks wait for it. If a handler calls more hooks than that, one block of the
  // estimate is wrong.
  constexpr std::uintptr_t max_distance = std::uintptr_t{8} << 20;
  constexpr std::uint32_t max_waits = 32;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (own_window.decision != 0 && frame - own_window.decision >= max_distance && ++own_window.waits < max_waits) {
    tarn_steps_left = 0;
    return;
  }
  own_window.waits = 0;
  own_window.decision = frame;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  decide();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own_window.decision = 0;
}
