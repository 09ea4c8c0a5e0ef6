// Defines a recording in memory, and its file format (docs/reference/recording-format.md draws it).
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "profiler/format/cell_table.hpp"
#include "profiler/format/counts.hpp"

namespace tarn::format {

constexpr std::uint32_t recording_version = 3;
constexpr std::array<char, 8> recording_magic = {'t', 'a', 'r', 'n', '\r', '\n', '\x1a', '\n'};
constexpr std::uint32_t block_mark = 0x6b6c6254;    // "Tblk"
constexpr std::uint32_t largest_block = 64U << 20;  // size of a block in bytes, uncompressed

// The writer writes the first three as blocks, and the others as parts of a snapshot, in this order. The reader also
// accepts a part that stands in a block of its own.
// clang-format off
enum class block_kind : std::uint32_t { program = 1, snapshot, end,
                                        modules, threads, names, sites, locks, quiet_regions, excerpt,
                                        cells, calls, acquisitions, waits, orders, violations, clock, timestamp, unrecorded,
                                        peak, residence, work,
                                        cpu_facts, cpu_modules, cpu_threads, cpu_stacks, cpu_cells, leaks, open_uses,
                                        open_calls, contents, predecessors, limits, python_codes,
                                        cpu_python_codes, lasting_modules, lasting_python_codes, lasting_stacks,
                                        lasting_waits };
// clang-format on

// The file contains both structs unchanged, little-endian.
struct file_header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t reserved;
};
struct block_header {
  std::uint32_t mark;
  std::uint32_t kind;
  std::uint32_t packed;    // bytes that follow, compressed with zstd
  std::uint32_t unpacked;  // their size after decompression
  std::uint64_t checksum;  // XXH3 of the fields above and of the bytes that follow
};
static_assert(sizeof(file_header) == 16 && sizeof(block_header) == 24);

struct program_facts {
  std::uint64_t process = 0;
  std::uint64_t started = 0;         // seconds since 1970
  std::string machine;               // kernel, processors
  std::string mode;                  // "full", or "sampled": then the counts of heap cells are unbiased estimates
  std::vector<std::string> sources;  // "heap", "locks", "system calls by syscall user dispatch"
  std::vector<std::string> arguments;
  std::uint64_t parent = 0;    // the started process, an ancestor of this one; 0 if this is it
  std::uint64_t interval = 0;  // the mean distance of two samples in bytes (counts.hpp); 0 if every block is counted
  bool is_late = false;        // the program ran already, so that it may free blocks which the recording does not have
  std::string host = {};       // the name of the machine, or of the container; empty in files before it was recorded

  // Returns whether the source that begins with `name` was recorded.
  bool has_source(std::string_view name) const {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const std::string& source) { return source.starts_with(name); });
  }
};
struct module_facts {
  std::uint32_t image = 0;
  std::uint64_t start = 0, end = 0, bias = 0;
  std::string path;
  std::string build_id;             // hexadecimal; empty if the file has none
  std::uint32_t own_functions = 0;  // own_malloc, own_new, own_python
  auto operator<=>(const module_facts&) const = default;
};
// A code object of CPython: a function, or the body of a module or a class.
struct python_code_facts {
  std::uint32_t image = 0;
  std::uint64_t start = 0, bytes = 0;  // the addresses of its instructions on recorded stacks
  std::uint32_t line = 0;              // where it begins
  std::string file, function;
  std::string lines;  // CPython's table of the lines of its instructions; empty if it is too long
  auto operator<=>(const python_code_facts&) const = default;
};
struct thread_facts {
  std::uint32_t image = 0;
  std::uint32_t id = 0;
  std::uint64_t unknown = 0;  // frees of blocks that were not recorded
  std::uint64_t dropped = 0;  // dropped events: the region had no room for them
  // Exact counts, with and without sampling; `bytes` is counted only with sampling.
  std::uint64_t allocations = 0, frees = 0, bytes = 0;
  std::string name = {};           // the name that was seen last, arbitrary bytes; empty if none was seen
  std::uint64_t predecessors = 0;  // threads that counted here before, one after the other (counts.hpp)
  bool is_sampled_alone = false;   // only samples of the processor know it; it may be a predecessor in another row
  auto operator<=>(const thread_facts&) const = default;
};
struct site_facts {
  std::uint32_t image = 0;
  std::vector<std::uint64_t> frames;  // return addresses, innermost first
  auto operator<=>(const site_facts&) const = default;
};
struct heap_key {
  std::uint32_t site = 0, owner = 0, actor = 0;  // indexes into `sites` and `threads`
  auto operator<=>(const heap_key&) const = default;
};
using heap_counts = std::array<std::uint64_t, counter_count>;

// The keys of the other kinds follow. `thread` is the acting thread.
struct call_key {
  std::uint32_t site = 0, thread = 0, number = 0;  // `number` is that of the system call
  auto operator<=>(const call_key&) const = default;
};
using call_counts = std::array<std::uint64_t, call_counter_count>;
struct lock_key {
  std::uint32_t site = 0, thread = 0, lock = 0;  // `lock` is an index into `locks`
  auto operator<=>(const lock_key&) const = default;
};
using lock_counts = std::array<std::uint64_t, lock_counter_count>;
struct wait_key {
  std::uint32_t site = 0, thread = 0, lock = 0;
  std::uint32_t holder_site = 0, holder = 0;  // where the lock was acquired, and by which thread
  auto operator<=>(const wait_key&) const = default;
};
using wait_counts = std::array<std::uint64_t, wait_counter_count>;

// A wait for a lock that had not ended at the last snapshot, or a hold of one. Its time so far is in the cell of the
// same site, thread and lock.
struct open_key {
  bool is_wait = false;  // false: a hold
  std::uint32_t site = 0, thread = 0, lock = 0;
  auto operator<=>(const open_key&) const = default;
};

// A thread began to acquire `lock` at `site` while it held `held_lock`.
struct order_key {
  std::uint32_t site = 0, thread = 0, lock = 0;
  std::uint32_t held_site = 0, held_lock = 0;
  std::uint32_t gate = 0;  // the outermost lock that was held around both; 0: none
  auto operator<=>(const order_key&) const = default;
};
using order_counts = std::array<std::uint64_t, order_counter_count>;

struct violation_key {
  std::uint32_t site = 0, thread = 0, region = 0;  // `region` is an index into `quiet_regions`
  auto operator<=>(const violation_key&) const = default;
};
using violation_counts = std::array<std::uint64_t, violation_counter_count>;

// A quiet region of the program (tarn::quiet_region), identified by its name.
struct quiet_facts {
  std::uint32_t image = 0;
  std::string name;  // arbitrary bytes
  std::uint64_t entered = 0;
  auto operator<=>(const quiet_facts&) const = default;
};
template <class Key>
constexpr bool is_longest(const Key&, std::size_t counter) {
  return std::is_same_v<Key, lock_key> && is_longest(static_cast<lock_counter>(counter));
}
// The counters of the peak belong to one moment: they have no part in an interval.
template <class Key>
constexpr bool is_of_peak(const Key&, std::size_t counter) {
  return std::is_same_v<Key, heap_key> && is_of_peak(static_cast<format::counter>(counter));
}

// Holds the samples of the processor, which `tarn record` takes. The recorded program numbers its sites, threads and
// modules itself, so these have tables of their own; analyse::with_cpu_sites() joins them.
struct cpu_key {
  std::uint32_t site = 0, thread = 0;  // indexes into `stacks` and `threads` of the samples
  auto operator<=>(const cpu_key&) const = default;
};
using cpu_counts = std::array<std::uint64_t, cpu_counter_count>;
// Times of threads move from one cell to another one (cpu_counts), so their changes may be below 0.
template <class Key>
constexpr bool may_fall(const Key&, std::size_t counter) {
  return std::is_same_v<Key, cpu_key> && is_time(static_cast<cpu_counter>(counter));
}
struct cpu_thread {
  std::uint32_t image = 0;
  std::uint32_t id = 0;
  std::string name;  // the name that was seen last, arbitrary bytes
  auto operator<=>(const cpu_thread&) const = default;
};
struct cpu_recording {
  std::uint64_t interval_ns = 0;      // CPU time of a thread between two samples; 0: nothing was sampled
  std::uint64_t lost = 0;             // records that the kernel had no room for, of all processes that were sampled
  bool is_kernel_hidden = false;      // the kernel allowed no samples of its own code
  std::vector<module_facts> modules;  // the modules of the stacks
  std::vector<python_code_facts> python_codes;
  std::vector<cpu_thread> threads;
  std::vector<site_facts> stacks;  // stack 0 has no frames: it stands for unknown ones and those beyond the limit
  cell_table<cpu_key, cpu_counts> cells;
};

// A lock is the object at an address from its first use to its destruction, if that was seen. Without an address it
// stands for those locks of one type and first site whose counts the recorder had no room to keep apart.
struct lock_facts {
  std::uint32_t image = 0;
  lock_type type = lock_type::mutex;
  std::uint32_t site = 0;  // the site of its first use
  std::uint64_t address = 0;
  bool is_process_shared = false;  // other processes may use it, too
  bool is_sum() const { return address == 0; }
  auto operator<=>(const lock_facts&) const = default;
};

// Counters of time are in ticks of a clock that advances by `ticks` in `nanoseconds`.
struct clock_facts {
  std::uint64_t ticks = 1, nanoseconds = 1;
  auto operator<=>(const clock_facts&) const = default;
};
inline std::uint64_t nanoseconds(const clock_facts& clock, std::uint64_t ticks) {
  const double result =
      static_cast<double>(ticks) * static_cast<double>(clock.nanoseconds) / static_cast<double>(clock.ticks);
  constexpr double limit = 1e18;  // thirty years; a larger value comes from a broken file
  return static_cast<std::uint64_t>(result < limit ? result : limit);
}
// An excerpt lists the heap events of one thread in their order (counts.hpp).
struct excerpt_event {
  excerpt_kind kind = excerpt_kind::allocate;
  std::uint32_t site = 0;  // the stack of an allocation; also of a free, where it is known
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
  auto operator<=>(const excerpt_event&) const = default;
};
struct excerpt_facts {
  std::uint32_t thread = 0;
  std::uint64_t allocations = 0;  // how many allocations the thread had made before
  std::vector<excerpt_event> events;
  auto operator<=>(const excerpt_facts&) const = default;
};

struct end_facts {
  bool status_is_signal = false;
  std::uint32_t status = 0;  // exit code or signal number
  std::uint64_t wall_us = 0, user_us = 0, system_us = 0;
  // The processor counted these in the program, including the recorder; 0 if they were not or could not be counted.
  std::uint64_t instructions = 0, branch_mispredictions = 0;
  // The kernel's counts of the process's calls that read and that write, from its start on; 0 if they are not known.
  std::uint64_t reads = 0, writes = 0;
  bool is_running = false;       // the recording ended before the program; there is no status then
  bool has_unknown_way = false;  // the program ended, and nobody saw how; there is no status then, either
  auto operator<=>(const end_facts&) const = default;
};

// Says for what a thread waits that has waited since the recording of a running process began.
enum class awaited : std::uint32_t {
  nothing,        // it does not wait since then: it has the mutex for which another one does
  word,           // of memory, of a condition variable, a semaphore or a timed wait: who ends the wait cannot be told
  mutex,          // of the C library
  thread_end,     // pthread_join()
  stream,         // the lock of a FILE
  reader_writer,  // such a lock of the C library
};
constexpr std::uint32_t awaited_kinds = 6;
// Says whose the number of a holder is.
enum class ownership : std::uint32_t {
  thread,     // of a thread of the process
  possible,   // of such a thread, or of one that had it before
  shared,     // of a thread of this process or of another one, which share the mutex
  parent,     // of a thread of the process that forked this one
  no_thread,  // of none: it has ended
};
constexpr std::uint32_t ownerships = 5;
enum class wait_start : std::uint32_t {
  before,       // the recording
  interrupted,  // likewise, but the thread has run since, as for a signal
  later,        // while it was recorded; or the thread does not wait for what can be told
};
constexpr std::uint32_t wait_starts = 3;
// `tarn record` reads these waits in the memory of the process, so their stacks and modules have tables of their own;
// analyse::with_lasting_stacks() joins them.
struct lasting_wait {
  std::uint32_t thread = 0;  // the kernel's number, as in `threads`
  std::uint32_t stack = 0;   // index into `stacks`; 0: unknown
  awaited kind = awaited::nothing;
  std::uint64_t address = 0;  // of the mutex or the word
  std::uint32_t holder = 0;   // the number of the thread that has the mutex, or is to end; 0: unknown
  ownership owner = ownership::thread;
  wait_start start = wait_start::before;
  std::string name = {};  // of the thread; empty if it is the program's
  auto operator<=>(const lasting_wait&) const = default;
};
struct lasting_waits {
  std::vector<module_facts> modules;  // the modules of the stacks
  std::vector<python_code_facts> python_codes;
  std::vector<site_facts> stacks;   // stack 0 has no frames
  std::vector<lasting_wait> waits;  // one of a thread at most
};

// The recorder's own work in the program, and its cost on the machine of the recording.
struct work_facts {
  std::array<std::uint64_t, work_counter_count> counts{};  // only while it is recorded; the file has the amounts
  std::array<std::uint64_t, work_item_count> amounts{};
  std::array<double, work_item_count> prices{};  // nanoseconds; all 0 if they could not be measured
  bool is_disturbed = false;                     // the prices were measured on a busy machine
  std::uint64_t collector_us = 0;                // CPU time of `tarn record` itself
  auto operator<=>(const work_facts&) const = default;
  bool is_priced() const { return prices != decltype(prices){}; }
  // `tarn record` writes this last. It takes time itself, so that its own CPU time is never 0.
  bool is_missing() const { return !is_priced() && collector_us == 0; }
};

// Counts what limits of the recorder have left out, as far as nothing else in the recording says so.
struct limit_facts {
  std::uint64_t missed_acquisitions = 0;   // of locks, by signal handlers that interrupted the recorder
  std::uint64_t untimed_holds = 0;         // beyond those that one thread keeps
  std::uint64_t waits_without_holder = 0;  // beyond max_lock_cells
  bool has_shared_threads = false;         // threads beyond the limit have shared a row
  bool has_all_own_ranges = false;         // the list of the recorder's mappings is full
  auto operator<=>(const limit_facts&) const = default;
};

// Describes the parts of the program that were not recorded: other processes, and the program after an exec.
struct unrecorded_facts {
  std::string became;                             // the file of the last exec, if the recorder was not loaded there
  std::string why;                                // the reason, if it is known
  std::map<std::string, std::uint64_t> programs;  // programs that it started (last part of the path), and how often
  std::uint64_t forks = 0;                        // processes that fork created, including the ones in `programs`
  bool is_restricted = false;                     // it restricted its system calls: later ones are not recorded
  auto operator<=>(const unrecorded_facts&) const = default;
  bool is_empty() const { return became.empty() && programs.empty() && forks == 0 && !is_restricted; }
};

// A moment is the time of a snapshot by `tarn record`. The changes in a snapshot happened since the moment before.
struct snapshot_facts {
  std::uint64_t at_ns = 0;                   // since the program's start
  std::uint64_t resident_bytes = 0;          // 0: unknown
  std::uint64_t user_us = 0, system_us = 0;  // CPU time so far
  // The most that was resident since the process began, also between two snapshots; 0: unknown.
  std::uint64_t peak_resident_bytes = 0;
  auto operator<=>(const snapshot_facts&) const = default;
};

// The pages that a process has in memory, by their use.
enum class memory_kind : std::size_t { heap, stacks, program, files, shared_memory, recorder, remainder };
constexpr std::size_t memory_kinds = 7;
struct residence_facts {
  std::uint64_t at_ns = 0;  // since the program's start
  std::array<std::uint64_t, memory_kinds> bytes{};
  bool knows_in_use = false;       // false if the process had blocks before it was recorded
  std::uint64_t in_use_bytes = 0;  // of the heap, as requested
  std::uint64_t shared_bytes = 0;  // that other processes have in memory, too
  std::uint64_t huge_page_bytes = 0, swapped_bytes = 0;
  auto operator<=>(const residence_facts&) const = default;

  std::uint64_t bytes_of(memory_kind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t part : bytes) sum += part;
    return sum;
  }
};

// The blocks of a site that no pointer reached when the program exited.
struct leak_facts {
  std::uint64_t blocks = 0, bytes = 0;
  std::uint64_t first_blocks = 0;  // those that no other of these blocks points to
  auto operator<=>(const leak_facts&) const = default;
};

// Sums up what the blocks of a site contained (`tarn record --contents`).
struct site_contents {
  std::uint64_t blocks = 0, bytes = 0;
  std::uint64_t unwritten_bytes = 0;                // at the ends of blocks, never written
  std::uint64_t max_unwritten = 0;                  // of these, in one block
  std::uint64_t unwritten_blocks = 0;               // that end in such bytes
  std::uint64_t equal_blocks = 0, equal_bytes = 0;  // blocks that are equal to an earlier one of the site
  std::uint64_t repeated = 0;                       // contents that more than one block has
  auto operator<=>(const site_contents&) const = default;
};
struct contents_facts {
  std::uint64_t at_ns = 0;                       // since the program's start
  std::uint64_t in_use_bytes = 0;                // then; 0: nobody has looked
  std::map<std::uint32_t, site_contents> sites;  // those with unwritten or equal bytes
  auto operator<=>(const contents_facts&) const = default;
};

struct interval {
  std::uint64_t from_ns = 0, to_ns = 0;  // since the program's start
  auto operator<=>(const interval&) const = default;
};

struct recording {
  program_facts program;
  std::uint32_t images = 0;  // program starts: 1, plus one for each exec
  std::vector<module_facts> modules;
  std::vector<python_code_facts> python_codes;
  std::vector<thread_facts> threads;
  std::vector<bool> settled_threads;        // only while it is recorded: those that change no more, so far
  std::vector<site_facts> sites;            // site 0 has no frames: it stands for all sites beyond the limit
  cell_table<heap_key, heap_counts> cells;  // heap cells
  cell_table<call_key, call_counts> calls;
  std::vector<lock_facts> locks;  // lock 0 stands for all locks beyond the limit
  cell_table<lock_key, lock_counts> acquisitions;
  cell_table<wait_key, wait_counts> waits;
  cell_table<order_key, order_counts> orders;
  std::map<open_key, std::uint64_t> open_uses;   // and when each began, by the clock
  std::map<call_key, std::uint64_t> open_calls;  // likewise, of the calls that had not returned
  std::vector<quiet_facts> quiet_regions;
  cell_table<violation_key, violation_counts> violations;
  cpu_recording cpu;
  lasting_waits lasting;  // that had not ended at the last snapshot
  clock_facts clock;
  std::vector<snapshot_facts> snapshots;     // in order of time
  std::uint64_t peak_ns = 0;                 // since the program's start: when it had the most bytes in use; 0: unknown
  residence_facts residence, peak_resident;  // the last one seen, and the one with the most bytes; all 0: none
  bool has_leaks = false;  // `tarn record` has looked for lost blocks: those of each site that has any
  std::map<std::uint32_t, leak_facts> leaks;
  contents_facts contents;  // at the last new peak that was looked through
  interval part;            // the interval that this recording covers (interval.hpp); {0, 0}: all of it
  std::vector<excerpt_facts> excerpts;
  bool has_ended = false;  // if false, `end` is not valid, and the counts are those of the last complete block
  end_facts end;
  work_facts work;
  limit_facts limits;
  unrecorded_facts unrecorded;
  std::string damage;  // why reading stopped before the end of the file; empty if it did not

  // Returns whether the program of a site ran last. A block ends with its program, also where that became another by
  // exec. Site 0 stands for sites of all programs.
  bool is_of_last_image(std::uint32_t site) const { return site == 0 || sites[site].image + 1 >= images; }
};

}  // namespace tarn::format
