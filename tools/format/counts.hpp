// What is counted for a site: one definition for the library that counts, the writer and the reader.
//
// Runs inside the recorded program: no allocation, no exception, no library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::format {

// What is recorded, each with its own counters. The first three are sources that a user names.
enum kind : std::size_t { heap_kind, call_kind, lock_kind, wait_kind, noise_kind, order_kind, kind_count };
constexpr std::uint32_t source_bit(kind source) noexcept { return 1U << source; }

// A cell of the heap is what one thread did with the blocks that one thread (its owner) allocated at one site. It has
// one writer, the acting thread. Allocations and reallocations are counted in the cell whose owner acts.
enum counter : std::size_t {
  blocks,        // allocations; a realloc that has something to move is one more, and a free, as valgrind counts it
  bytes,         // what was asked for, together
  early,         // blocks from before the image's second thread
  reallocs,      // reallocs of this site's blocks
  moved,         // of those, the ones that changed the address
  copied,        // bytes that they had to copy: at most what the old block could hold
  frees,         // blocks freed by the acting thread
  early_gone,    // frees of early blocks while there was still one thread
  early_busy,    // frees of early blocks while other threads ran
  size_buckets,  // the first of `size_bucket_count`: blocks by size
  size_bucket_count = 16,
  life_buckets = size_buckets + size_bucket_count,  // blocks by lifetime, where the owner freed them
  life_bucket_count = 12,
  time_buckets = life_buckets + life_bucket_count,  // sampled blocks by the time until anyone freed them
  time_bucket_count = 12,
  spread = time_buckets + time_bucket_count,  // of `blocks` where it is an estimate: its variance, itself an estimate
  counter_count,
};

// What a block is long on the way to the next sample, beside its bytes: so that many small blocks are seen as well as
// a few large ones.
constexpr std::int64_t cost_of_a_block = 256;

// Bucket 0 has sizes up to 16 bytes, each next one twice that, the last one all above 256 KiB.
constexpr std::size_t size_bucket(std::uint64_t size) noexcept {
  if (size <= 16) return 0;
  const auto bucket = static_cast<std::size_t>(64 - __builtin_clzll((size - 1) >> 4));
  return bucket < size_bucket_count ? bucket : size_bucket_count - 1;
}
constexpr std::uint64_t size_bucket_end(std::size_t bucket) noexcept { return std::uint64_t{16} << bucket; }

// By the allocations that the owner made in between: bucket 0 has none, each next one below 4, 16, 64 …, the last one
// all from a million on.
constexpr std::size_t life_bucket(std::uint64_t between) noexcept {
  if (between == 0) return 0;
  const std::size_t bucket = (63U - static_cast<unsigned>(__builtin_clzll(between))) / 2 + 1;
  return bucket < life_bucket_count ? bucket : life_bucket_count - 1;
}

// In ticks of the clock: bucket 0 is below 1,024 (a third of a microsecond or so), each next one eight times that.
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

// Of the first threads of a process, parts of what they did with the heap are recorded one by one: one part after
// `excerpt_events` allocations, one after four times that, and so on. What they are for: analyse/replay.hpp.
constexpr std::uint32_t excerpt_events = 8192, most_excerpts = 8, most_excerpted = 8;
enum class excerpt_kind : std::uint32_t {
  allocate,
  release,  // by whichever thread allocated it
  resize,   // the block that a realloc is given; what it returns is the allocation that follows
};
constexpr std::uint32_t excerpt_kinds = 3;

// A cell of system calls is what one thread called from one site by one number.
enum call_counter : std::size_t {
  calls,
  errors,          // that returned -1 and an errno
  asked,           // bytes that calls with a size asked for, together
  given,           // bytes that they returned
  call_ticks,      // of the clock, inside of the kernel
  same_arguments,  // calls whose arguments were those of the thread's call before at this site; paths by their text
  in_a_row,        // calls right after one of the same thread at the same site
  call_counter_count,
};

// A cell of locks is what one thread did with one lock from one site. A condition variable counts each wait as an
// acquisition, and as a contended one: it is there to be waited for.
enum lock_counter : std::size_t {
  acquisitions,
  contended,     // of those, the ones that had to wait
  wait_ticks,    // of the clock, until they had it
  longest_wait,  // the longest of them
  held,          // acquisitions whose end was seen
  held_ticks,    // of the clock, until that
  longest_held,
  shared_ones,  // acquisitions as one of several readers
  refused,      // tries that found it held, and gave up, also after a time
  lock_counter_count,
};

enum class lock_type : std::uint32_t { mutex, reader_writer, spin, condition };
constexpr std::uint32_t lock_types = 4;

// Of these a later value replaces an earlier one; all others add up.
constexpr bool is_longest(lock_counter of) noexcept { return of == longest_wait || of == longest_held; }

// A cell of waits is how often and how long one thread at one site waited for one lock while one thread held it that
// had acquired it at one site.
enum wait_counter : std::size_t { waits, waited_ticks, wait_counter_count };

// A cell of orders is how often one thread began to acquire one lock at one site while it held another one, that it had
// acquired at one site, and how it waited then. Tries, and waits that give up in time, are not counted: they end.
enum order_counter : std::size_t { orders, order_waits, order_ticks, order_counter_count };

// A cell of noises is what one thread did at one site in a region that was to be quiet (tarn::quiet_region).
enum noise_counter : std::size_t { heap_calls, system_calls, lock_waits, noise_counter_count };

// What a module has of its own of the heap's functions, in front of the recorder's: the program itself mostly. What the
// first serves is not seen; of the second's blocks only those that come from malloc are.
constexpr std::uint32_t own_malloc = 1, own_new = 2;

// A block is short-lived when its owner made fewer than 64 allocations before it was freed.
constexpr std::size_t short_lived_buckets = 4;

}  // namespace tarn::format
