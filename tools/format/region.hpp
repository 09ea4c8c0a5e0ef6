// The memory that the recorded program and `tarn record` share: what is counted lies here and nowhere else, so that
// it outlives the program, however that ends. Memory is handed out from its start and never taken back; each word has
// one writer in the program, or is changed by an atomic read-modify-write. `tarn record` only reads.
//
//   header | offsets of threads | of modules | of sites | of locks | records, in the order in which they came
//
// A program that replaces itself by exec continues in the same region as its next image.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/counts.hpp"

namespace tarn::format {

// The two environment variables of a recorded program: the region as a file, and the process that is recorded. Not
// TARN_…, as that is an option of the heaps.
constexpr const char* region_variable = "_TARN_RECORD_REGION";
constexpr const char* process_variable = "_TARN_RECORD_PROCESS";

constexpr std::uint32_t region_version = 1;
constexpr std::uint64_t region_mark = 0x6e6f69676572;           // "region"
constexpr std::uint64_t region_bytes = std::uint64_t{8} << 30;  // of addresses: pages are used as they are touched

constexpr std::uint32_t most_spares = 256;
constexpr std::uint32_t most_threads = 16383;  // the last one stands for all further ones
constexpr std::uint32_t most_modules = 4096;
constexpr std::uint32_t most_sites = 1U << 20;  // site 0 stands for all further ones
constexpr std::uint32_t most_frames = 64;
constexpr std::uint32_t most_locks = 1U << 16;  // lock 0 stands for all further ones
constexpr std::uint32_t most_orders = 4096;     // of a thread; further ones are counted as of lock 0
constexpr std::uint32_t most_call_number = 4095;
constexpr std::uint32_t most_quiet_regions = 256;  // no further ones are heard

using offset = std::uint64_t;  // from the region's start; 0 where there is nothing

// Published by a release store of their offset, after which only the atomics change.
struct site_record {
  std::uint32_t image;
  std::uint32_t frames;  // return addresses follow, innermost first
};
struct module_record {
  std::uint32_t image;
  std::uint32_t path_bytes;  // the path follows
  std::uint64_t start, end;  // where it is mapped
  std::uint64_t bias;        // what the loader added to its addresses
  std::uint32_t own_heap;    // own_malloc, own_new: what of it takes precedence over the recorder's
  std::uint32_t reserved;
};
// A region that is to be quiet.
struct quiet_record {
  std::uint32_t image;
  std::uint32_t name_bytes;  // the name follows
  std::atomic<std::uint64_t> entered;
};
struct lock_record {
  std::uint32_t image, type;  // lock_type
  std::uint32_t site, reserved;
  std::uint64_t address;
};
// Of each kind there are cells of their own form. The key is the site << 32 | the owner, the number of the system call,
// the lock, or the quiet region.
template <std::size_t Counters>
struct cell_of_kind {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> value[Counters];
};
using cell = cell_of_kind<counter_count>;
using lock_cell = cell_of_kind<lock_counter_count>;
using noise_cell = cell_of_kind<noise_counter_count>;
struct call_cell : cell_of_kind<call_counter_count> {
  std::atomic<std::uint64_t> last_arguments;  // their hash: the program's own, and not read by others
};
struct wait_cell : cell_of_kind<wait_counter_count> {
  std::atomic<std::uint64_t> holder;  // site << 32 | thread
};
struct order_cell : cell_of_kind<order_counter_count> {
  std::atomic<std::uint64_t> held;  // site << 32 | lock
  std::atomic<std::uint64_t> gate;  // the lock that was held around both; 0: none
};
constexpr std::uint64_t cell_key(std::uint32_t site, std::uint32_t other) { return std::uint64_t{site} << 32 | other; }
struct chunk {
  std::atomic<offset> next;
  std::atomic<std::uint32_t> used;  // cells that follow, of `capacity`
  std::uint32_t capacity;
};
// In the order in which they happened. The site only of an allocation.
struct excerpt_event {
  std::uint64_t address;
  std::uint32_t bytes;          // of a block that is released, all that it may hold
  std::uint32_t kind_and_site;  // excerpt_kind << 24 | the site
};
struct excerpt_record {
  std::atomic<offset> next;
  std::uint64_t allocations;  // of the thread, before
  std::atomic<std::uint32_t> used;
  std::uint32_t reserved;
  excerpt_event event[excerpt_events];
};
struct thread_record {
  std::uint32_t image;
  std::uint32_t id;                       // the kernel's
  std::atomic<offset> cells[kind_count];  // the first chunk of each kind
  // Exact, sampled or not: blocks that were allocated and freed.
  std::atomic<std::uint64_t> allocations, frees;
  // What is left to allocate until the next sample, as record/chance.hpp counts it, and all that was drawn so far.
  std::atomic<std::int64_t> until, drawn;
  std::atomic<std::uint64_t> unknown;    // frees of blocks that were not recorded
  std::atomic<std::uint64_t> forgotten;  // events for which the region had no room
  // As the kernel had it when the thread ended, with a 0 at its end; until then 0. The second half is stored first.
  std::atomic<std::uint64_t> name[2];
  std::atomic<offset> excerpts;  // the first of them
};

// A region for a child, which is there before the child is: `process` is 0 until one takes it.
struct spare_region {
  std::atomic<std::uint32_t> process;
  std::uint32_t file;  // its number in the folder in which the first region is
};

struct region_header {
  std::uint64_t mark;
  std::uint32_t version;
  std::uint32_t sources;               // the source_bits of what is to be recorded
  std::uint32_t spares;                // in the first region, where children are recorded too
  std::atomic<std::uint32_t> missed;   // children that found none left
  std::atomic<offset> words;           // of the last image's command line, each with a 0 at its end; a number before
  std::uint64_t interval;              // the mean way between two samples of the heap; 0 for every block
  std::atomic<std::uint32_t> images;   // that attached
  std::atomic<std::uint32_t> threads;  // handed out; the same for the next two
  std::atomic<std::uint32_t> modules;
  std::atomic<std::uint32_t> sites;
  std::atomic<std::uint32_t> locks;
  std::atomic<std::uint32_t> quiet_regions;
  std::atomic<std::uint32_t> problem;       // the errno that kept the last image from recording
  std::atomic<std::uint32_t> call_problem;  // the same for system calls alone
  std::atomic<std::uint64_t> used;          // bytes handed out
  // Of the process: its number, and when it attached first and how it ended, where it came to exit() or _exit().
  std::atomic<std::uint32_t> process, has_ended, status;
  std::atomic<std::uint64_t> begun_ns, ended_ns;  // monotonic
  std::atomic<std::uint64_t> user_us, system_us;
  spare_region spare[most_spares];
  std::atomic<offset> thread_at[most_threads + 1];
  std::atomic<offset> module_at[most_modules];
  std::atomic<offset> site_at[most_sites];
  std::atomic<offset> lock_at[most_locks];
  std::atomic<offset> quiet_at[most_quiet_regions];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace tarn::format
