// Chooses which of the program's system calls are dispatched to the recorder, so that recording them costs little.
//
// A thread's run is cut into steps: a step ends where the thread calls one of the hooked functions (hooked_functions.S
// and the wrappers). Some steps, four or more, are a block. Each block is dispatched with the probability 1 / W,
// independently of all others, and a call in it counts W times. So the counts are unbiased estimates for any program
// (Horvitz and Thompson), and the sum of W (W - 1) y² over the dispatched blocks, where y calls of a cell
// are in a block, is an unbiased estimate of the variance. Outside of these blocks the dispatch is off, and calls run
// as without the recorder.
//
// A thread chooses its next W and the length of its blocks from its past alone: W so large that its dispatched calls
// take a small part of its CPU time, or 1 where they do so anyway; the length so that some calls are in a block.
// The first calls of a process all count, fewer of them where its threads call often. With `--full` (no samples of the
// heap) all calls count, and these functions do nothing.
//
// A thread turns its own dispatch on and off, in a hook. So no other thread or process is needed, and no signal, which
// would interrupt a call of the program.
#pragma once

#include <cstdint>

#include "profiler/preload/base/chance.hpp"
#include "profiler/preload/records/region.hpp"

extern "C" {
// Counts the hooks until the next decision; hooked_functions.S counts it down, too.
extern __attribute__((visibility("hidden"))) constinit thread_local std::int32_t tarn_steps_left;  // NOLINT
// Decides whether the next steps of the thread are dispatched. It may run in a signal's handler.
__attribute__((visibility("hidden"))) void tarn_next_window() noexcept;
}

namespace tarn::preload {

#if defined(__x86_64__)
// Every hooked function that is not in hooked_functions.S calls this first.
inline void take_step() noexcept {
  if (--tarn_steps_left < 0) [[unlikely]]
    tarn_next_window();
}

enum class window_phase : std::uint8_t {
  unknown,   // the thread has had no hook yet: dispatched if the thread that made it says so, or with `--full`
  closed,    // not dispatched
  leading,   // dispatched for one step before a block, so that the first call of the block has a known predecessor
  open,      // dispatched and counted
  inherited  // dispatched from the thread's first instruction on; counts as the block of the thread that made it
};

// The state of one thread; all zeroes at first.
struct call_window {
  window_phase phase;
  bool is_dispatched;        // false in phase `unknown`
  bool is_held;              // dispatched in any phase, for a quiet region
  bool is_new;               // the thread has just begun, so it has used no CPU time yet
  std::uint16_t weight;      // of a call in a block, at least 1
  std::uint32_t block;       // numbers the blocks
  std::uint32_t dispatched;  // calls since the block began
  std::uint32_t children;    // threads that this one has made in the block
  std::uint32_t siblings;    // in phase `inherited`: those that were made before this one in the same block
  std::uint32_t gap;         // steps before this block that were not dispatched
  std::uintptr_t decision;   // the frame of the decision that is being made; 0: none
  std::uint32_t waits;       // hooks that have waited for that decision
  random_numbers random;
  std::uint32_t steps;                  // of this block
  std::uint32_t pace;                   // how often a dispatched call counts towards larger weights; 0 is 1
  std::uint64_t closed_at, opened_at;   // CPU time of the thread, in nanoseconds
  std::uint64_t plain_ns, plain_steps;  // the time of steps that are not dispatched; decaying sums, as the next two
  std::uint64_t open_calls, open_steps;
  std::uint64_t last_call;  // the cell_key of the last dispatched call
};
extern constinit thread_local call_window own_window;  // NOLINT(bugprone-dynamic-static-initializers)

// Returns how many calls a dispatched call of this thread stands for, or 0 when it only runs.
inline std::uint16_t window_weight() noexcept {
  switch (own_window.phase) {
    case window_phase::unknown: return 1;
    case window_phase::open:
    case window_phase::inherited: return own_window.weight;
    default: return 0;
  }
}

// Takes the first step of a thread that has just begun. Its decision makes no system call whose answer is known
// already.
void take_first_step() noexcept;
// Counts a dispatched call of this process for the choice of the next weights.
void note_dispatched_call() noexcept;

// Returns true unless the caller is a child that shares this process's memory.
bool is_own_process() noexcept;
// A cell's `last_block` has, from its lowest bit up, the calls in a block, the number of that block, and how many long
// calls windows have seen.
constexpr unsigned block_calls_bits = 24, long_calls_at = block_calls_bits + 32;
constexpr std::uint64_t max_long_calls = 255;

// Counts a call in a block. Returns how many the block had before.
inline std::uint64_t calls_in_block(format::call_cell& cell, std::uint32_t number) noexcept {
  constexpr std::uint64_t max_calls = (std::uint64_t{1} << block_calls_bits) - 1;
  const std::uint64_t long_calls = cell.last_block >> long_calls_at << long_calls_at;
  const std::uint64_t block = std::uint64_t{number} << block_calls_bits, last = cell.last_block - long_calls;
  const std::uint64_t calls_before = (last & ~max_calls) == block ? last - block : 0;
  cell.last_block = long_calls + block + (calls_before < max_calls ? calls_before + 1 : max_calls);
  return calls_before;
}

// Counts a long call that a window has seen. Returns how many there were before, at most `max_long_calls`.
inline std::uint64_t note_long_call_in(format::call_cell& cell) noexcept {
  const std::uint64_t before = cell.last_block >> long_calls_at;
  if (before < max_long_calls) cell.last_block += std::uint64_t{1} << long_calls_at;
  return before;
}

// Adds W (W - 1) y² to the variance of a cell's count, as the y-th call of a block comes. Threads that were made in one
// block begin alike, and count as one.
inline void count_spread(format::call_cell& cell, std::uint64_t weight) noexcept {
  const std::uint64_t calls_before = calls_in_block(cell, own_window.block);
  cell.value[format::call_spread].fetch_add(weight * (weight - 1) * (2 * (calls_before + own_window.siblings) + 1),
                                            std::memory_order_relaxed);
}

// Notes that the dispatch of the calling thread is on, and opens its first window. The counts of the process begin
// anew.
void begin_windows() noexcept;
// Prepares the state of a thread that is about to be made, and that is dispatched from its first instruction on.
// `thread_pointer` is its thread pointer.
void inherit_window(std::uintptr_t thread_pointer) noexcept;
// Counts all calls of this process from now on.
void dispatch_always() noexcept;
// Counts all further calls of the calling thread: the program is about to restrict the calls that turn windows.
void keep_window_open() noexcept;

// Dispatches the calling thread's calls while it lives, also outside of a window: for calls whose arguments the
// recorder may have to change. They are not counted because of it.
class dispatched_calls {
 public:
  dispatched_calls() noexcept;
  dispatched_calls(const dispatched_calls&) = delete;
  dispatched_calls& operator=(const dispatched_calls&) = delete;
  ~dispatched_calls();

 private:
  bool turns_off_;
};

// Dispatches all calls of the thread from hold_window() until release_window().
void hold_window() noexcept;
void release_window() noexcept;
#else  // system calls are not recorded
inline void take_step() noexcept {}
inline void take_first_step() noexcept {}
inline void keep_window_open() noexcept {}
inline void hold_window() noexcept {}
inline void release_window() noexcept {}
struct dispatched_calls {
  dispatched_calls() noexcept {}
};
#endif

}  // namespace tarn::preload
