// Defines the memory that the recorded program and `tarn record` share. The counters are kept only here, so that they
// outlive the program however it ends. Memory is handed out from the start and never taken back. Each word has one
// writer in the program, or is changed by atomic read-modify-write operations. `tarn record` only reads.
//
//   header | offsets of threads | of modules | of sites | of locks | records, in the order in which they came
//
// A program that replaces itself by exec continues in the same region as its next image.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/format/counts.hpp"

namespace tarn::format {

// These environment variables tell a recorded program the region's file and the process to record. Their names do not
// begin with TARN_, because those are options of the heaps.
constexpr const char* region_variable = "_TARN_RECORD_REGION";
constexpr const char* process_variable = "_TARN_RECORD_PROCESS";  // 0: whichever has it
// This variable holds the region's descriptor after an exec, for a program that may no longer open the file.
constexpr const char* descriptor_variable = "_TARN_RECORD_DESCRIPTOR";

constexpr std::uint32_t region_version = 18;
constexpr std::uint64_t region_mark = 0x6e6f69676572;  // "region"
// These are sizes of address space: a page takes memory only once it is touched. The region is smaller if a limit of
// the process requires it.
constexpr std::uint64_t usual_region_bytes = std::uint64_t{8} << 30, min_region_bytes = std::uint64_t{32} << 20;

constexpr std::uint32_t max_spare_regions = 256;
constexpr std::uint32_t max_unrecorded = 32;
constexpr std::uint32_t max_modules = 4096;
constexpr std::uint32_t max_python_codes = 1U << 16;  // further ones have no names
constexpr std::uint32_t max_sites = 1U << 20;         // site 0 stands for all sites beyond the limit
constexpr std::uint32_t max_frames = 64;
constexpr std::uint32_t max_cpu_frames = 128;
constexpr std::uint32_t max_locks = 1U << 16;  // lock 0 stands for all locks beyond the limit
constexpr std::uint32_t max_orders = 4096;     // per thread; further orders count as those of lock 0
// Cells of locks of a process, and as many of waits for them and of their orders. What has no cell then counts for all
// locks of its kind (lock_record), has no holder, and counts as an order of lock 0.
constexpr std::uint32_t max_lock_cells = 1U << 16;
constexpr std::uint32_t max_call_number = 4095;
constexpr std::uint32_t max_stacks = 4096;           // of the threads that began last
constexpr std::uint32_t max_own_ranges = 1024;       // further ones are not told apart from the program's
constexpr std::uint32_t max_heap_mebibytes = 65536;  // likewise
constexpr std::uint32_t max_holds = 32;              // per thread; further ones are not timed
constexpr std::uint32_t max_open_holds = 8;          // per thread; further ones are seen when they end
constexpr std::uint32_t max_semaphores = 8;          // that a thread has taken; of further ones the older are given up
constexpr unsigned char unwritten_byte = 0xa7;       // fills new blocks with `--contents`
constexpr std::uint64_t max_filled_bytes = std::uint64_t{64} << 20;  // larger blocks are not filled
constexpr std::uint32_t max_quiet_regions = 256;                     // further quiet regions are not recorded

using offset = std::uint64_t;  // bytes from the start of the region; 0: nothing

// A release store of a record's offset publishes the record; after that only its atomics change.
struct site_record {
  std::uint32_t image;
  std::uint32_t frames;  // number of return addresses, which follow, innermost first
};
struct module_record {
  std::uint32_t image;
  std::uint32_t path_bytes;      // length of the path, which follows
  std::uint64_t start, end;      // the mapped address range, in its generation (generations.hpp)
  std::uint64_t bias;            // the load bias: the difference between loaded addresses and those in the file
  std::uint32_t own_functions;   // own_malloc, own_new: functions that precede the recorder's; own_python
  std::uint32_t build_id_bytes;  // more than there is room for: the loaded module's build id could not be read
  unsigned char build_id[32];
};
// A code object of CPython. Its file, its function and its table of lines follow.
struct python_code_record {
  std::uint32_t image;
  std::uint32_t line;                                    // where it begins
  std::uint64_t start, bytes;                            // the addresses of its instructions in recorded stacks
  std::uint32_t file_bytes, function_bytes, line_bytes;  // the lengths
  std::uint32_t reserved;
};
// A quiet region.
struct quiet_record {
  std::uint32_t image;
  std::uint32_t name_bytes;  // length of the name, which follows
  std::atomic<std::uint64_t> entered;
};
// Without an address it stands for those locks of one type and first site whose acquisitions by a thread at a site have
// no cell.
struct lock_record {
  std::uint32_t image, type;  // lock_type
  std::uint32_t site, is_process_shared;
  std::uint64_t address;
  std::uint32_t predecessor, reserved;  // the number of the lock before at the address; 0: none
};
// Each kind has its own form of cells. The key is site << 32 | the owner, the number of the system call, the lock, or
// the quiet region.
template <std::size_t Counters>
struct cell_of_kind {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> value[Counters];
};
struct cell : cell_of_kind<counter_count> {
  // The number of the peak whose counters the cell has (region_header::peaks). If it is an older one, the cell has not
  // changed since the newest peak, so its present counts are those at the peak.
  std::atomic<std::uint64_t> peak;
};
using lock_cell = cell_of_kind<lock_counter_count>;
using violation_cell = cell_of_kind<violation_counter_count>;
struct call_cell : cell_of_kind<call_counter_count> {
  // Only the recorded process reads the next two.
  std::atomic<std::uint64_t> last_arguments;  // a hash of them
  std::uint64_t last_block;                   // the last block that had a call (preload/windows.hpp), and how many
};
struct wait_cell : cell_of_kind<wait_counter_count> {
  std::atomic<std::uint64_t> holder;  // site << 32 | thread
};
struct order_cell : cell_of_kind<order_counter_count> {
  std::atomic<std::uint64_t> held_key;  // site << 32 | lock
  std::atomic<std::uint64_t> gate;      // the outermost lock that was held around both; 0: none
};
constexpr std::uint64_t cell_key(std::uint32_t site, std::uint32_t low_half) {
  return std::uint64_t{site} << 32 | low_half;
}
struct chunk {
  std::atomic<offset> next;
  std::atomic<std::uint32_t> used_cells;  // number of cells in use, which follow, out of `capacity`
  std::uint32_t capacity;
};
// Events are in the order in which they happened. Only an allocation has a site.
struct event_record {
  std::uint64_t address;
  std::uint32_t bytes;          // for a released block its capacity
  std::uint32_t kind_and_site;  // excerpt_kind << 24 | site
};
struct excerpt_record {
  std::atomic<offset> next;
  std::uint64_t allocations;  // how many allocations the thread had made before
  std::atomic<std::uint32_t> used_events;
  std::uint32_t reserved;
  event_record events[excerpt_capacity];
};
// A wait for a lock, a hold of one or a system call that has not ended: the key of its cell, and when it began, in
// ticks of the clock; 0: there is none. Its counters are added after it has ended, so a reader that reads the cell
// first never counts twice.
struct open_use {
  std::atomic<std::uint64_t> key, since;
};
struct thread_record {
  std::uint32_t image;
  std::atomic<std::uint32_t> id;            // the kernel's thread id
  std::atomic<std::uint64_t> predecessors;  // threads that counted here before, one after the other
  std::atomic<offset> cells[kind_count];    // the first chunk of each kind
  // Exact counts of allocated and freed blocks, with and without sampling.
  std::atomic<std::uint64_t> allocations, frees;
  // `until_sample`: the amount left to allocate until the next sample, in the units of
  // profiler/preload/base/sampler.hpp; `drawn_sum`: the sum of all intervals drawn so far.
  std::atomic<std::int64_t> until_sample, drawn_sum;
  std::atomic<std::uint64_t> unknown;  // frees of blocks that were not recorded
  std::atomic<std::uint64_t> dropped;  // dropped events: the region had no room for them
  // The thread's name in the kernel when the thread ended, zero-terminated; 0 until then. The second half is stored
  // first.
  std::atomic<std::uint64_t> name[2];
  std::atomic<std::uint32_t> is_gone;  // 1: the kernel no longer knows the thread, so nothing here changes
  std::atomic<offset> excerpts;        // the first excerpt
  open_use wait, holds[max_open_holds], semaphores[max_semaphores];
  open_use call;  // in which the thread is; of a nested one in a signal's handler, only that one
};

// Addresses of the stack of a thread, by the kernel's id of the thread; it may have ended.
struct thread_stack {
  std::atomic<std::uint32_t> id;
  std::atomic<std::uint64_t> low, high;
};

// Addresses that the recorder has mapped for itself. 0 bytes: the entry is unused.
struct own_range {
  std::atomic<std::uint64_t> start, bytes;
};

// Identifies a process by the number that it sees itself, and by the PID namespace of that number (the inode of
// /proc/self/ns/pid; 0 if there is no /proc). Two processes of different namespaces may have the same number.
constexpr std::uint64_t process_key(std::uint32_t pid_namespace, std::uint32_t process) noexcept {
  return std::uint64_t{pid_namespace} << 32 | process;
}

// A region for a child process, created before the child. `owner`, a process_key, is 0 until a child takes the
// region.
struct spare_region {
  std::atomic<std::uint64_t> owner;
  std::atomic<std::uint64_t> started;  // the owner's start time: its number and namespace may be used again
  std::uint32_t file;                  // its number in the folder of the first region
  std::uint32_t reserved;
};

// A program that the process started and that was not recorded, identified by the last part of its path.
struct unrecorded_program {
  std::atomic<std::uint32_t> state;  // 0: unused, 1: the name is being written, 2: complete
  std::atomic<std::uint32_t> starts;
  char name[48];  // truncated; zero-terminated
};

// Tells where commands for `tarn record` go: its number in its namespace (0: it takes none), the descriptor of a pipe
// in it, and the inode of that pipe. `answers` counts the commands that it has carried out.
struct recorder_pipe {
  std::atomic<std::uint32_t> recorder, descriptor;
  std::atomic<std::uint64_t> inode;
  std::atomic<std::uint32_t> is_recording, answers;
};

// A search through the heap, for lost blocks when the program exits (`tarn record --leaks`), or through the contents of
// blocks at new peaks (`--contents`). Each step waits for the one before. After `finished` the search of contents is
// requested again.
enum class search_step : std::uint32_t {
  unwanted,
  requested,  // by tarn record
  waiting,    // a thread of the program waits, in exit() or before a free
  stopped,    // tarn record has stopped all other threads
  listed,     // the thread has listed the blocks in use
  finished    // the program goes on
};
struct heap_search {
  std::atomic<search_step> step;
  std::atomic<std::uint32_t> thread;        // the one that waits
  std::atomic<std::uint64_t> stack;         // its stack pointer
  std::atomic<std::uint64_t> list, blocks;  // the address of the list in the program, and the number of blocks in it
  std::atomic<std::uint32_t> granule;       // a block begins in this many bytes from its listed address on
};
struct listed_block {
  std::uint64_t address, bytes;
  std::uint32_t site, reserved;
};

// The time and the amount of the recorder's work (work_counter), apart from the cache lines that each event reads.
struct alignas(64) work_counts {
  std::atomic<std::uint64_t> counts[work_counter_count];
};
constexpr std::size_t max_work_counts = 16;

struct region_header {
  std::uint64_t mark;
  std::uint32_t version;
  std::uint64_t bytes;                 // size of the region
  std::uint32_t sources;               // the source_bits of the sources to record
  std::uint32_t pid_namespace;         // the namespace of `tarn record`; it numbers the processes in it
  std::uint32_t spares;                // spare regions; only in the first region, if it records children
  std::atomic<std::uint32_t> missed;   // children that found no spare region left
  std::atomic<offset> arguments;       // command line of the last image: its length, then zero-terminated arguments
  std::uint64_t interval;              // the mean interval between two samples of the heap; 0: record every block
  std::atomic<std::uint32_t> images;   // images that attached
  std::atomic<std::uint32_t> threads;  // number of threads handed out; likewise below
  std::atomic<std::uint32_t> modules;
  std::atomic<std::uint32_t> sites;
  std::atomic<std::uint32_t> locks;
  std::atomic<std::uint32_t> quiet_regions;
  std::atomic<std::uint32_t> python_codes;
  std::atomic<std::uint32_t> restricted;    // 1: the program has restricted its system calls (seccomp)
  std::atomic<std::uint32_t> problem;       // the errno that kept the last image from recording
  std::atomic<std::uint32_t> call_problem;  // the errno that kept it from recording system calls
  std::atomic<std::uint64_t> used_bytes;    // bytes handed out
  // Facts of the process: its number, when it first attached, and how it ended if it called exit() or _exit().
  std::atomic<std::uint32_t> process, has_ended, status;
  std::atomic<std::uint64_t> begun_ns, ended_ns;  // monotonic clock
  std::atomic<std::uint64_t> user_us, system_us, peak_resident_bytes;
  // The requested bytes in use, as far as recorded; the most that there were since the file of the recording began, and
  // in which image; how often there were more than before, and the ticks of the clock at about the last time (within
  // 1/1,024 of the bytes).
  std::atomic<std::int64_t> bytes_in_use, max_bytes_in_use;
  std::atomic<std::uint64_t> peaks, peak_ticks;
  std::atomic<std::uint32_t> peak_image;
  // The limits of the recorder have left these out: acquisitions of locks by a signal's handler that interrupted the
  // recorder, and holds beyond those that a thread keeps.
  std::atomic<std::uint64_t> missed_acquisitions, untimed_holds;
  std::atomic<std::uint32_t> lock_cells, wait_cells, order_cells;  // of all threads, up to max_lock_cells
  std::atomic<std::uint64_t> waits_without_holder;                 // beyond them
  work_counts work[max_work_counts];                               // a thread adds to one of them; their sum counts
  alignas(64) spare_region spare[max_spare_regions];
  // Processes that the program started and that are not recorded: the programs they became, the number of programs
  // beyond the limit, the number of all that fork created, and of those of them that became a program by exec.
  unrecorded_program unrecorded[max_unrecorded];
  std::atomic<std::uint64_t> unrecorded_others, unrecorded_forks, unrecorded_execs;
  // The last exec of the process itself: the number of images that had attached before it (0: no exec), and its file.
  std::atomic<std::uint32_t> exec_after_images;
  char exec_path[256];  // truncated; zero-terminated
  recorder_pipe control;
  std::atomic<offset> thread_at[max_threads + 1];
  std::atomic<offset> module_at[max_modules];
  std::atomic<offset> site_at[max_sites];
  std::atomic<offset> lock_at[max_locks];
  std::atomic<offset> quiet_at[max_quiet_regions];
  std::atomic<offset> python_code_at[max_python_codes];
  // The remaining members show the use of the image's pages: the stacks, the recorder's own addresses, and a set of the
  // mebibytes of addresses that held a recorded block, each as its number + 1, in the first free entry from that number
  // on.
  heap_search leaks, contents;
  std::atomic<std::int64_t> contents_from;  // the bytes in use from which on the next free looks through the contents
  std::atomic<std::uint64_t> started_threads;  // the next one has the entry of this number, modulo their count
  thread_stack thread_stacks[max_stacks];
  own_range own_ranges[max_own_ranges];
  std::atomic<std::uint32_t> heap_mebibytes[max_heap_mebibytes];
};
static_assert(sizeof(region_header) < min_region_bytes / 2);

inline std::uint64_t sum_of_work(const region_header& header, work_counter counter) noexcept {
  std::uint64_t sum = 0;
  for (const work_counts& part : header.work) sum += part.counts[counter].load(std::memory_order_relaxed);
  return sum;
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace tarn::format
