// Ways to read data that is seldom replaced, ways to change shared data, and ways to take two locks. Each is a struct
// with a name. Those marked "candidate" are only here to be measured: docs/design/reloadable.md.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <tarn/read_only.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/spin_mutex.hpp>
#include <tarn/with.hpp>

namespace bench {

/// The data that is read: four words of a line of eight.
struct config {
  explicit config(long n) : numbers{n, n, n, n} {}
  alignas(64) long numbers[8] = {};
  long sum() const { return numbers[0] + numbers[1] + numbers[2] + numbers[3]; }
};

}  // namespace bench

template <>
struct tarn::deeply_const<bench::config> : std::true_type {};  // it has a constructor, so the compiler cannot see it

namespace bench {

struct constant {
  static constexpr const char* name = "const&";
  const config* value = new config(1);
  long read() const { return value->sum(); }
};
struct our_read_only {
  static constexpr const char* name = "tarn::read_only";
  tarn::read_only<config> value;
  our_read_only() { value.build(config(1)); }
  long read() const { return value->sum(); }
};
struct our_reloadable {
  static constexpr const char* name = "tarn::reloadable";
  tarn::reloadable<config> value{1L};
  long read() const {
    const auto now = value.snapshot();
    return now->sum();
  }
  void write(long n) { value.publish(n); }
};
struct our_shared {
  static constexpr const char* name = "tarn::shared";
  tarn::shared<config> value{1L};
  long read() const {
    return value.with([](const config& c) { return c.sum(); });
  }
  void write(long n) {
    value.with([n](config& c) { c = config(n); });
  }
  void add() {
    value.with([](config& c) { ++c.numbers[0]; });
  }
};
struct our_shared_spin : our_shared {
  static constexpr const char* name = "tarn::shared, spin_mutex";
  tarn::shared<config, tarn::spin_mutex> spun{1L};
  void add() {
    spun.with([](config& c) { ++c.numbers[0]; });
  }
};
struct our_shared_readers {
  static constexpr const char* name = "tarn::shared, std::shared_mutex";
  tarn::shared<config, std::shared_mutex> value{1L};
  long read() const {
    return value.read([](const config& c) { return c.sum(); });
  }
  void write(long n) {
    value.with([n](config& c) { c = config(n); });
  }
};

template <class Mutex>
struct plain_mutex {
  mutable Mutex mutex;
  config value{1};
  long read() const {
    const std::lock_guard hold(mutex);
    return value.sum();
  }
  void write(long n) {
    const std::lock_guard hold(mutex);
    value = config(n);
  }
  void add() {
    const std::lock_guard hold(mutex);
    ++value.numbers[0];
  }
};
struct std_mutex : plain_mutex<std::mutex> {
  static constexpr const char* name = "std::mutex";
};
struct std_shared_mutex : plain_mutex<std::shared_mutex> {
  static constexpr const char* name = "std::shared_mutex";
  long read() const {
    const std::shared_lock hold(mutex);
    return value.sum();
  }
};
struct std_atomic_shared_ptr {
  static constexpr const char* name = "std::atomic<std::shared_ptr>";
  std::atomic<std::shared_ptr<const config>> value{std::make_shared<const config>(1)};
  long read() const { return value.load()->sum(); }
  void write(long n) { value.store(std::make_shared<const config>(n)); }
};

/// A slot for each thread of a candidate; at most two threads use it at a time.
template <class Seat>
struct seats {
  static inline std::atomic<unsigned> seat_count{0};
  static inline Seat seats_of_threads[8];
  static inline constinit thread_local Seat* seat_of_thread = nullptr;
  static Seat& own_seat() {
    if (seat_of_thread == nullptr) [[unlikely]]
      seat_of_thread = &seats_of_threads[seat_count.fetch_add(1) % 8];
    return *seat_of_thread;
  }
};
struct alignas(128) epoch_seat {
  std::atomic<unsigned long> inside_since{0};
  unsigned depth = 0;
};
struct alignas(128) hazard_seat {
  std::atomic<const config*> slot{nullptr};
};
struct alignas(128) masked_seat {
  std::atomic<const config*> places[16] = {};
  unsigned free = 0xffff;
};

// The candidates free nothing: only the reader's side is measured.

/// Candidate: an epoch for each thread. A read only announces that it is inside, not which version it reads; a
/// version is freed when all readers that were inside at its replacement have left.
struct epochs {
  static constexpr const char* name = "candidate: epoch, membarrier";
  static inline std::atomic<unsigned long> epoch{1};
  std::atomic<const config*> value{new config(1)};
  long read() const {
    epoch_seat& seat = seats<epoch_seat>::own_seat();
    if (seat.depth++ == 0) {
      seat.inside_since.store(epoch.load(std::memory_order_relaxed), std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    const long sum = value.load(std::memory_order_acquire)->sum();
    if (--seat.depth == 0) seat.inside_since.store(0, std::memory_order_release);
    return sum;
  }
};

/// Candidate: hazard pointers by the book, with a fence for each read instead of membarrier(2) for each write.
struct fenced_hazards {
  static constexpr const char* name = "candidate: hazard pointer, fence";
  std::atomic<const config*> value{new config(1)};
  long read() const {
    std::atomic<const config*>& slot = seats<hazard_seat>::own_seat().slot;
    const config* version = nullptr;
    do {
      version = value.load(std::memory_order_relaxed);
      slot.store(version, std::memory_order_seq_cst);
    } while (value.load(std::memory_order_seq_cst) != version);
    const long sum = version->sum();
    slot.store(nullptr, std::memory_order_release);
    return sum;
  }
};

/// Candidate: a mask of a thread's free slots, so that nested reads cost the same as the first.
struct masked_hazards {
  static constexpr const char* name = "candidate: hazard pointer, mask";
  std::atomic<const config*> value{new config(1)};
  long read() const {
    masked_seat& seat = seats<masked_seat>::own_seat();
    const int slot = __builtin_ctz(seat.free);
    seat.free &= seat.free - 1;
    const config* version = nullptr;
    do {
      version = value.load(std::memory_order_relaxed);
      seat.places[slot].store(version, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (value.load(std::memory_order_acquire) != version);
    const long sum = version->sum();
    seat.places[slot].store(nullptr, std::memory_order_release);
    seat.free |= 1u << slot;
    return sum;
  }
};

// Two locks, taken in the order of the caller.
struct our_two {
  static constexpr const char* name = "tarn::with(a, b)";
  tarn::shared<long> numbers[2];
  void add(int first) {
    tarn::with(numbers[first], numbers[1 - first], [](long& x, long& y) { ++x, ++y; });
  }
};
struct scoped_two {
  static constexpr const char* name = "std::scoped_lock(a, b)";
  struct alignas(64) locked_number {
    std::mutex mutex;
    long value = 0;
  } numbers[2];
  void add(int first) {
    const std::scoped_lock hold(numbers[first].mutex, numbers[1 - first].mutex);
    ++numbers[0].value, ++numbers[1].value;
  }
};
struct ordered_two : scoped_two {
  static constexpr const char* name = "two std::mutex, one order";
  void add(int) {
    const std::lock_guard outer(numbers[0].mutex);
    const std::lock_guard inner(numbers[1].mutex);
    ++numbers[0].value, ++numbers[1].value;
  }
};

}  // namespace bench
