// A recording in memory, and as a file (docs/recording.md draws it).
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "format/counts.hpp"

namespace tarn::format {

constexpr std::uint32_t recording_version = 1;
constexpr std::array<char, 8> recording_magic = {'t', 'a', 'r', 'n', '\r', '\n', '\x1a', '\n'};
constexpr std::uint32_t block_mark = 0x6b6c6254;    // "Tblk"
constexpr std::uint32_t largest_block = 64U << 20;  // bytes of a block, unpacked

// The first three are written as blocks, the others as parts of a look, in this order. The reader takes a part as a
// block by itself, too.
// clang-format off
enum class block_kind : std::uint32_t { program = 1, look, end,
                                        modules, threads, names, sites, locks, quiet_regions, excerpt,
                                        cells, calls, lockings, waits, orders, noises, clock, moment };
// clang-format on

// Both lie in the file as they are, little-endian.
struct file_header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t reserved;
};
struct block_header {
  std::uint32_t mark;
  std::uint32_t kind;
  std::uint32_t packed;    // bytes that follow, compressed by zstd
  std::uint32_t unpacked;  // bytes that they become
  std::uint64_t checksum;  // XXH3 of the fields above and of the bytes that follow
};
static_assert(sizeof(file_header) == 16 && sizeof(block_header) == 24);

struct program_facts {
  std::uint64_t process = 0;
  std::uint64_t started = 0;         // seconds since 1970
  std::string machine;               // kernel, processors
  std::string mode;                  // "full", or "sampled": then the counts of heap cells are unbiased estimates
  std::vector<std::string> sources;  // "heap", "locks", "system calls by syscall user dispatch"
  std::vector<std::string> words;
  std::uint64_t parent = 0;  // the process that was started, of which this one comes; 0 for itself
};
struct module_facts {
  std::uint32_t image = 0;
  std::uint64_t start = 0, end = 0, bias = 0;
  std::string path;
  std::string build_id;        // hexadecimal; empty where the file has none
  std::uint32_t own_heap = 0;  // own_malloc, own_new
  auto operator<=>(const module_facts&) const = default;
};
struct thread_facts {
  std::uint32_t image = 0;
  std::uint32_t id = 0;
  std::uint64_t unknown = 0;    // frees of blocks that were not recorded
  std::uint64_t forgotten = 0;  // events for which there was no room
  // Exact, sampled or not; bytes only where it was sampled.
  std::uint64_t allocations = 0, frees = 0, bytes = 0;
  std::string name = {};  // the last one that was seen; any bytes, empty where none was
  auto operator<=>(const thread_facts&) const = default;
};
struct site_facts {
  std::uint32_t image = 0;
  std::vector<std::uint64_t> frames;  // return addresses, innermost first
  auto operator<=>(const site_facts&) const = default;
};
struct cell_key_facts {
  std::uint32_t site = 0, owner = 0, actor = 0;  // numbers in `sites` and `threads`
  auto operator<=>(const cell_key_facts&) const = default;
};
using counts = std::array<std::uint64_t, counter_count>;

// The same for the other kinds. `thread` is the one that acts.
struct call_key {
  std::uint32_t site = 0, thread = 0, number = 0;  // of the system call
  auto operator<=>(const call_key&) const = default;
};
using call_counts = std::array<std::uint64_t, call_counter_count>;
struct lock_key {
  std::uint32_t site = 0, thread = 0, lock = 0;  // in `locks`
  auto operator<=>(const lock_key&) const = default;
};
using lock_counts = std::array<std::uint64_t, lock_counter_count>;
struct wait_key {
  std::uint32_t site = 0, thread = 0, lock = 0;
  std::uint32_t holder_site = 0, holder = 0;  // where it was acquired, and by which thread
  auto operator<=>(const wait_key&) const = default;
};
using wait_counts = std::array<std::uint64_t, wait_counter_count>;

// What it began to acquire while it held another lock.
struct order_key {
  std::uint32_t site = 0, thread = 0, lock = 0;
  std::uint32_t held_site = 0, held_lock = 0;
  std::uint32_t gate = 0;  // the lock that was held around both, the outermost; 0: none
  auto operator<=>(const order_key&) const = default;
};
using order_counts = std::array<std::uint64_t, order_counter_count>;

struct noise_key {
  std::uint32_t site = 0, thread = 0, region = 0;  // in `quiet_regions`
  auto operator<=>(const noise_key&) const = default;
};
using noise_counts = std::array<std::uint64_t, noise_counter_count>;

// A region of the program that is to be quiet (tarn::quiet_region), by its name.
struct quiet_facts {
  std::uint32_t image = 0;
  std::string name;  // any bytes
  std::uint64_t entered = 0;
  auto operator<=>(const quiet_facts&) const = default;
};
template <class Key>
constexpr bool is_longest(const Key&, std::size_t counter) {
  return std::is_same_v<Key, lock_key> && is_longest(static_cast<lock_counter>(counter));
}

// A lock: what lay at an address from its first use on, up to its end if that was seen.
struct lock_facts {
  std::uint32_t image = 0;
  lock_type type = lock_type::mutex;
  std::uint32_t site = 0;  // of its first use
  std::uint64_t address = 0;
  auto operator<=>(const lock_facts&) const = default;
};

// Counters of time are in ticks of a clock that went on by `ticks` in `nanoseconds`.
struct clock_facts {
  std::uint64_t ticks = 1, nanoseconds = 1;
  auto operator<=>(const clock_facts&) const = default;
};
inline std::uint64_t nanoseconds(const clock_facts& of, std::uint64_t ticks) {
  const double made = static_cast<double>(ticks) * static_cast<double>(of.nanoseconds) / static_cast<double>(of.ticks);
  constexpr double most = 1e18;  // thirty years: what is above is no time, but a broken file
  return static_cast<std::uint64_t>(made < most ? made : most);
}
// A part of what one thread did with the heap, one by one (counts.hpp).
struct excerpt_step {
  excerpt_kind is = excerpt_kind::allocate;
  std::uint32_t site = 0;  // of an allocation
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
  auto operator<=>(const excerpt_step&) const = default;
};
struct excerpt_facts {
  std::uint32_t thread = 0;
  std::uint64_t allocations = 0;  // of the thread, before
  std::vector<excerpt_step> steps;
  auto operator<=>(const excerpt_facts&) const = default;
};

struct end_facts {
  bool by_signal = false;
  std::uint32_t status = 0;  // exit code or signal
  std::uint64_t wall_us = 0, user_us = 0, system_us = 0;
  // As the processor counted in the program, the recorder in it included; 0 where it was not asked or may not be.
  std::uint64_t instructions = 0, surprises = 0;  // branches that it guessed wrong
  auto operator<=>(const end_facts&) const = default;
};

// When `tarn record` looked. What a look found changed happened since the moment before.
struct moment_facts {
  std::uint64_t at_ns = 0;                   // since the program's start
  std::uint64_t resident_bytes = 0;          // 0 where it is not known
  std::uint64_t user_us = 0, system_us = 0;  // of the processor, so far
  auto operator<=>(const moment_facts&) const = default;
};

struct interval {
  std::uint64_t from_ns = 0, to_ns = 0;  // since the program's start
  auto operator<=>(const interval&) const = default;
};

struct recording {
  program_facts program;
  std::uint32_t images = 0;  // program starts: 1, and one for each exec
  std::vector<module_facts> modules;
  std::vector<thread_facts> threads;
  std::vector<site_facts> sites;           // site 0 has no frames: it stands for sites beyond the limit
  std::map<cell_key_facts, counts> cells;  // of the heap
  std::map<call_key, call_counts> calls;
  std::vector<lock_facts> locks;  // lock 0 stands for locks beyond the limit
  std::map<lock_key, lock_counts> lockings;
  std::map<wait_key, wait_counts> waits;
  std::map<order_key, order_counts> orders;
  std::vector<quiet_facts> quiet_regions;
  std::map<noise_key, noise_counts> noises;
  clock_facts clock;
  std::vector<moment_facts> moments;  // in order
  interval part;                      // of which this is, by interval.hpp; {0, 0}: all of it
  std::vector<excerpt_facts> excerpts;
  bool ended = false;  // otherwise `end` means nothing, and the counts are those of the last whole block
  end_facts end;
  std::string damage;  // why reading stopped before the file's end; empty when it did not
};

}  // namespace tarn::format
