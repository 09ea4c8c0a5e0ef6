// Defines the counters of a site, once for the recorder library, the writer and the reader.
//
// This code runs inside the recorded program: it allocates nothing, throws nothing and calls no library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::format {

// The first threads of a process have rows of their own, also after they have ended. A later one counts on in the row
// of a thread that has ended, and gets a row of its own only where there is none.
constexpr std::uint32_t first_threads = 4096;
constexpr std::uint32_t ended_threads = first_threads;  // the row that owns the blocks of the earlier threads of a row
constexpr std::uint32_t max_threads = 16383;            // the number of the row that all threads beyond the limit share

// These are the kinds of events, and each has its own counters. A user can select the first three as sources.
enum kind : std::size_t { heap_kind, call_kind, lock_kind, wait_kind, violation_kind, order_kind, kind_count };
constexpr std::uint32_t source_bit(kind source) noexcept { return 1U << source; }

// A heap cell counts the events of one thread on the blocks that one thread (their owner) allocated at one site. Only
// the acting thread writes it. Allocations and reallocations count in the cell whose owner is the acting thread.
enum counter : std::size_t {
  blocks,                // allocations; a realloc that moves data counts as one more and as a free, as in valgrind
  bytes,                 // sum of the requested bytes
  early_blocks,          // blocks allocated before the image's second thread started
  reallocs,              // reallocs of this site's blocks
  moved,                 // reallocs that changed the address
  copied,                // bytes that those had to copy: at most the capacity of the old block
  frees,                 // blocks freed by the acting thread
  early_frees_alone,     // frees of early blocks while there was only one thread
  early_frees_threaded,  // frees of early blocks while other threads ran
  size_buckets,          // the first of `size_bucket_count` counters: blocks by size
  size_bucket_count = 16,
  life_buckets = size_buckets + size_bucket_count,  // blocks that the owner freed, by lifetime
  life_bucket_count = 12,
  time_buckets = life_buckets + life_bucket_count,  // sampled blocks by the time until any thread freed them
  time_bucket_count = 12,
  spread = time_buckets + time_bucket_count,  // the estimated variance of `blocks`, if `blocks` is an estimate
  freed_bytes,                                // sum of the requested bytes of `frees`
  // The values of `blocks` - `frees` and of `bytes` - `freed_bytes` when the process had the most bytes in use. Both
  // are below 0, in two's complement, in the cell of a thread that frees blocks of other threads.
  peak_blocks,
  peak_bytes,
  counter_count,
};
constexpr bool is_of_peak(counter counter) noexcept { return counter == peak_blocks || counter == peak_bytes; }

// Each block uses up its bytes plus this cost on the way to the next sample, so that samples also show many small
// blocks and not only a few large ones.
constexpr std::int64_t cost_of_a_block = 256;

// Bucket 0 holds sizes up to 16 bytes, each further one up to twice as many, and the last one all above 256 KiB.
constexpr std::size_t size_bucket(std::uint64_t size) noexcept {
  if (size <= 16) return 0;
  const auto bucket = static_cast<std::size_t>(64 - __builtin_clzll((size - 1) >> 4));
  return bucket < size_bucket_count ? bucket : size_bucket_count - 1;
}
constexpr std::uint64_t size_bucket_end(std::size_t bucket) noexcept { return std::uint64_t{16} << bucket; }

// A lifetime is the number of allocations that the owner made in between: bucket 0 holds none, each further one those
// below 4, 16, 64 …, and the last one all from a million on.
constexpr std::size_t life_bucket(std::uint64_t allocations) noexcept {
  if (allocations == 0) return 0;
  const std::size_t bucket = (63U - static_cast<unsigned>(__builtin_clzll(allocations))) / 2 + 1;
  return bucket < life_bucket_count ? bucket : life_bucket_count - 1;
}

// A time is in ticks of the clock: bucket 0 holds those below 1,024 (about a third of a microsecond), and each
// further one up to eight times as many.
constexpr std::size_t time_bucket(std::uint64_t ticks) noexcept {
  if (ticks < 1024) return 0;
  const std::size_t bucket = (53U - static_cast<unsigned>(__builtin_clzll(ticks))) / 3 + 1;
  return bucket < time_bucket_count ? bucket : time_bucket_count - 1;
}

static_assert(time_bucket(1023) == 0 && time_bucket(1024) == 1 && time_bucket(8191) == 1 && time_bucket(8192) == 2 &&
              time_bucket(~0ULL) == 11);
static_assert(size_bucket(0) == 0 && size_bucket(16) == 0 && size_bucket(17) == 1 && size_bucket(32) == 1 &&
              size_bucket(33) == 2 && size_bucket(262144) == 14 && size_bucket(262145) == 15);
static_assert(life_bucket(1) == 1 && life_bucket(3) == 1 && life_bucket(4) == 2 && life_bucket(63) == 3 &&
              life_bucket(64) == 4 && life_bucket(std::uint64_t{1} << 20) == 11 && life_bucket(~0ULL) == 11);

// For the first threads of a process, the recorder also keeps excerpts: lists of single heap events. One excerpt
// starts after `excerpt_capacity` allocations, one after four times as many, and so on. See profiler/predict/trace.hpp
// for their use.
constexpr std::uint32_t excerpt_capacity = 8192, max_excerpts = 8, max_excerpted = 8;
enum class excerpt_kind : std::uint32_t {
  allocate,
  release,  // a free, whichever thread allocated the block
  resize,   // the old block of a realloc; the new one is the allocation that follows
};
constexpr std::uint32_t located_release = 3;  // in a file: a release whose stack is known

// A cell of system calls counts the calls of one number that one thread made from one site.
enum call_counter : std::size_t {
  calls,
  errors,           // calls that returned -1 and an errno
  requested_bytes,  // sum of the bytes that calls with a size asked for
  returned_bytes,   // bytes that they returned
  call_ticks,       // ticks of the clock inside the kernel
  same_arguments,   // calls with the arguments of the thread's previous call at this site; paths compare as text
  in_a_row,         // calls that directly follow one of the same thread at the same site
  call_spread,      // the estimated variance of `calls`; 0 if all were counted
  call_counter_count,
};

// A lock cell counts the acquisitions, waits and releases of one lock by one thread at one site. A condition variable
// counts each wait as a contended acquisition, because its purpose is to be waited for.
enum lock_counter : std::size_t {
  acquisitions,
  contended,     // acquisitions that had to wait
  wait_ticks,    // ticks of the clock until the lock was acquired
  longest_wait,  // the longest single wait
  holds,         // acquisitions whose release was seen
  held_ticks,    // ticks of the clock until the release
  longest_held,
  reader_acquisitions,  // acquisitions as one of several readers
  refused,              // tries that found the lock held and gave up, at once or after a time
  lock_spread,          // the estimated variance of `acquisitions` and `refused` together; 0 if all were counted
  free_ticks,           // the part of `wait_ticks` in which no thread held the lock: the waiting one did not run yet
  unposted,             // acquisitions of a semaphore that the thread did not post before it took it anew, or ended
  lock_counter_count,
};

// A cell of the processor counts the samples of one thread that found it running with one call stack. The cell of stack
// 0 also has the thread's times by state, in nanoseconds, without the waits whose stack is known.
enum cpu_counter : std::size_t {
  cpu_samples,
  cpu_kernel,  // samples in the kernel; the stack is that of the code that called it
  cpu_cut,     // samples whose stack was deeper than the copied part: the outermost callers are missing
  running_ns,
  runnable_ns,  // a new thread before it runs, time that others took from it, and time after wake-ups
  waiting_ns,   // of a stack, an estimate
  unknown_ns,   // time with missing records
  wait_count,
  preemptions,
  undivided_ns,  // the part of `waiting_ns` that also has the time after wake-ups, which is not known
  cpu_counter_count,
};

constexpr bool is_time(cpu_counter counter) noexcept { return counter >= running_ns && counter <= unknown_ns; }

enum class lock_type : std::uint32_t { mutex, reader_writer, spin, condition, semaphore };
constexpr std::uint32_t lock_types = 5;

// For these counters a later value replaces an earlier one; all others are added up.
constexpr bool is_longest(lock_counter counter) noexcept { return counter == longest_wait || counter == longest_held; }

// A wait cell counts how often and how long one thread at one site waited for one lock while one thread held it that
// had acquired it at one site.
enum wait_counter : std::size_t { waits, waited_ticks, wait_counter_count };

// An order cell counts how often one thread began to acquire one lock at one site while it held another lock that it
// had acquired at one site, and how often and how long it then waited. Tries and timed waits are not counted, because
// they end.
enum order_counter : std::size_t { orders, order_waits, order_ticks, order_counter_count };

// A violation cell counts the violations of one thread at one site inside a quiet region (tarn::quiet_region).
enum violation_counter : std::size_t { heap_calls, system_calls, lock_waits, violation_counter_count };

// The recorder's own work in the program: ticks of the clock for work that takes far longer than reading the clock, and
// counts of all other work. No two counters include the same work.
enum work_counter : std::size_t {
  sample_ticks,    // sampled blocks, blocks in excerpts, and all events of the heap where each block is counted
  dispatch_ticks,  // the handler of dispatched system calls
  window_ticks,    // decisions about which system calls are dispatched
  thread_ticks,    // begin and end of threads
  walk_ticks,      // walks of stacks that were not known
  timed_counters,
  // The number of pieces of work that the ticks measure, in the same order.
  samples = timed_counters,
  dispatches,
  windows,
  thread_changes,
  walks,
  window_steps,    // calls of hooked functions, up to the last decision of each thread
  recorded_locks,  // acquisitions that are recorded while others are skipped
  lock_ticks,      // those with their waits and releases; some are timed, and count for all
  work_counter_count
};

// The cost is computed from these: each has an amount, and a price in nanoseconds that `tarn record` measures where it
// records. The first ones are timed: their amount is nanoseconds.
enum work_item : std::size_t {
  sample_work,
  dispatch_work,
  window_work,
  thread_work,
  walk_work,
  timed_items,
  // Pieces of timed work, for the part of each that cannot be timed: reading the clock, and the kernel's work before
  // and after.
  sample_margin = timed_items,
  dispatch_margin,
  window_margin,
  thread_margin,
  walk_margin,
  step_work,
  heap_work,           // allocations with their frees
  timed_lock_work,     // nanoseconds of acquisitions that are recorded, with their releases, where they can be timed
  lock_work,           // acquisitions that pass, with their releases
  recorded_lock_work,  // acquisitions that are recorded, with their releases, for the part that is not timed
  start_work,          // starts of programs
  work_item_count
};

// A module, mostly the program itself, may define heap functions that take precedence over the recorder's. The
// recorder does not see blocks from such a malloc; of the blocks from such an operator new it sees only those that
// come from malloc.
constexpr std::uint32_t own_malloc = 1, own_new = 2, own_python = 4;

// A block is short-lived if its owner made fewer than 64 allocations before it was freed.
constexpr std::size_t short_lived_buckets = 4;

}  // namespace tarn::format
