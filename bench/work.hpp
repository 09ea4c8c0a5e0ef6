// The parts of every row: the share of each thread, the use of the memory, and the random numbers.
#pragma once
#include <poll.h>
#include <sched.h>
#include <cstddef>
#include <cstdint>

namespace bench {

/// The part of a row that one thread does.
struct share {
  unsigned thread;            // 0 .. threads-1
  unsigned threads;           // all of them run at once
  std::uint64_t repetitions;  // the number of times that this thread repeats the work
};

/// Does the work and returns its checksum: the sum of what was read back from the blocks.
/// The sum over the threads depends on the repetitions only, never on the allocator.
using work = std::uint64_t (*)(const share&);

/// Hides a pointer and all of memory from the optimiser, so that no allocation, store or free
/// of a loop is elided or carried from one iteration to the next in a register.
template <class T>
inline void keep(T*& p) noexcept {
  asm volatile("" : "+r"(p) : : "memory");
}

/// Writes the first word of a block: every block of every row is used.
inline void mark(void* block, std::uint64_t value) noexcept {
  *static_cast<std::uint64_t*>(block) = value;
  keep(block);
}

/// Reads the word back, before the block is freed.
inline std::uint64_t marked(void* block) noexcept { return *static_cast<std::uint64_t*>(block); }

/// Random numbers (a 64-bit Weyl sequence, mixed by one wide multiplication): the same sequence on
/// every machine, and so cheap that it does not show beside an allocation.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15u) {}

  std::uint64_t next() noexcept {
    __extension__ using wide = unsigned __int128;
    state_ += 0xa0761d6478bd642fu;
    const wide product = static_cast<wide>(state_) * (state_ ^ 0xe7037ed1a0b428dbu);
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }

 private:
  std::uint64_t state_;
};

/// Returns 0 .. bound-1 for a bound below 2^32, from the upper half of a random number.
inline std::size_t draw_below(std::uint64_t random, std::size_t bound) noexcept {
  return static_cast<std::size_t>(((random >> 32) * bound) >> 32);
}

/// Returns a block size of 16 .. 1024 bytes in steps of 16, small ones more often (mean 268), from the lower half.
inline std::size_t skewed_size(std::uint64_t random) noexcept { return 16 + (random & (random >> 12) & 1008); }

/// Waits for another thread: spins first, then yields the processor.
class patience {
 public:
  /// Enabled where system calls are traced: the wait is then a ppoll, which no allocator calls, so that the bench's
  /// calls can be told from the allocator's.
  static inline bool is_traced = false;

  void wait() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
    if (++spins_ % 1024 != 0) return;
    if (is_traced) {
      const timespec microsecond{0, 1000};
      ppoll(nullptr, 0, &microsecond, nullptr);
    } else {
      sched_yield();
    }
  }

 private:
  unsigned spins_ = 0;
};

}  // namespace bench
