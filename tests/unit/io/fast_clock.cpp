// The time of a log line follows the system's clock, whatever somebody sets that to, and hardly ever reads it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include <tarn/detail/fast_clock.hpp>
#include <tarn/io/log.hpp>

#include "base/c_library.hpp"

namespace {

thread_local std::uint64_t clock_reads = 0;

}  // namespace

// Takes the place of the C library's function in this program.
extern "C" int clock_gettime(clockid_t id, timespec* now) TARN_LIBC_NOEXCEPT {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(::dlsym(RTLD_NEXT, "clock_gettime"));
  ++clock_reads;
  return real(id, now);
}

namespace {

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t one_second = 1'000 * millisecond;

// A machine whose counter has 3 ticks for each nanosecond, and a thread that asks for the time.
class machine {
 public:
  /// Ends the thread. Another one asks from now on.
  void start_thread() { clock_ = {0, 0, 0, 0, 0}; }
  void pass(std::int64_t ns) { monotonic_ += ns; }
  void set_clock_by(std::int64_t ns) { step_ += ns; }

  /// Returns by how much the time of a line is wrong now.
  std::int64_t error() {
    const std::uint64_t tick = 1'000'000'000'000 + 3 * static_cast<std::uint64_t>(monotonic_);
    const std::int64_t now = 1'800'000'000 * one_second + monotonic_ + step_;
    if (clock_.covers(tick)) return clock_.ns_at(tick) - now;
    ++readings_;
    clock_.read(tick, now, monotonic_, published_);
    return 0;
  }
  /// Returns how often the clock was read since the last call.
  int readings() { return std::exchange(readings_, 0); }

 private:
  std::int64_t monotonic_ = 7 * one_second;
  std::int64_t step_ = 0;
  int readings_ = 0;
  tarn::detail::counted_clock clock_{0, 0, 0, 0, 0};
  tarn::detail::shared_rate published_;
};

/// Returns the largest error of the lines that are written each 5 ms for so long.
std::int64_t largest_error(machine& host, std::int64_t duration) {
  std::int64_t largest = 0;
  for (std::int64_t passed = 0; passed < duration; passed += 5 * millisecond) {
    host.pass(5 * millisecond);
    largest = std::max(largest, std::abs(host.error()));
  }
  return largest;
}

TEST(fast_clock, shows_any_step_of_the_system_clock_within_a_second) {
  for (std::int64_t step = -5'000; step <= 5'000; step += 20) {
    for (const std::int64_t before : {0, 3, 10, 500, 3'500}) {  // also in the middle of the first measurement
      machine host;
      host.error();
      largest_error(host, before * millisecond);
      host.set_clock_by(step * millisecond);
      EXPECT_LE(largest_error(host, one_second + 10 * millisecond), std::abs(step) * millisecond + 1'000);
      EXPECT_LE(largest_error(host, 60 * one_second), 1'000) << "a step of " << step << " ms after " << before << " ms";
    }
  }
}

TEST(fast_clock, is_right_after_a_step_during_a_pause) {
  for (std::int64_t pause = 100; pause <= 6'000; pause += 100) {
    for (std::int64_t step = -6'000; step <= 6'000; step += 100) {
      machine host;
      largest_error(host, 3 * one_second);
      host.pass(pause * millisecond);
      host.set_clock_by(step * millisecond);
      largest_error(host, one_second + 10 * millisecond);
      EXPECT_LE(largest_error(host, 10 * one_second), 1'000) << "a step of " << step << " ms in a pause of " << pause;
    }
  }
}

constexpr int first_readings = 5;  // one in each 5 ms of the 20 in which the rate is measured

TEST(fast_clock, gives_a_new_thread_the_measured_rate) {
  machine host;
  largest_error(host, 100 * millisecond);
  EXPECT_EQ(host.readings(), first_readings);
  for (int thread = 0; thread < 20; ++thread) {
    host.start_thread();
    EXPECT_LE(largest_error(host, 900 * millisecond), 1'000);
    EXPECT_EQ(host.readings(), 1);
    EXPECT_LE(largest_error(host, 200 * millisecond), 1'000);
    EXPECT_EQ(host.readings(), 1);
  }
}

TEST(fast_clock, measures_the_rate_anew_after_a_pause_of_all_threads) {
  machine host;
  for (int thread = 0; thread < 3; ++thread) {
    host.start_thread();
    largest_error(host, 100 * millisecond);
    EXPECT_EQ(host.readings(), first_readings);
    host.pass(10 * one_second);
  }
}

TEST(fast_clock, is_measured_by_brief_threads_together) {
  machine host;
  for (int thread = 0; thread < 100; ++thread) {
    host.start_thread();
    EXPECT_LE(largest_error(host, 10 * millisecond), 1'000);
    const int readings = host.readings();
    EXPECT_LE(readings, thread > 2 ? 1 : 2) << "thread " << thread;
  }
}

TEST(log_time, is_right_before_1970) {
  const auto text_of = [](std::int64_t ns) {
    tarn::io::detail::formatted_second second;
    char text[tarn::io::detail::time_bytes];
    return std::string(text, second.put(text, ns));
  };
  EXPECT_EQ(text_of(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(text_of(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(text_of(-one_second), "1969-12-31T23:59:59.000000Z");
  EXPECT_EQ(text_of(-one_second - 1), "1969-12-31T23:59:58.999999Z");
  EXPECT_EQ(text_of(-163'719'249'631'223'201), "1964-10-24T02:25:50.368776Z");
  EXPECT_EQ(text_of(std::numeric_limits<std::int64_t>::min()), "1677-09-21T00:12:43.145224Z");
  EXPECT_EQ(text_of(std::numeric_limits<std::int64_t>::max()), "2262-04-11T23:47:16.854775Z");
}

TEST(fast_clock, never_gets_the_halves_of_two_readings) {
  tarn::detail::shared_reading shared;
  std::atomic<bool> is_over = false;
  const auto write = [&](std::uint64_t first) {
    for (std::uint64_t tick = first; !is_over; tick += 2) shared.replace({tick, static_cast<std::int64_t>(3 * tick)});
  };
  std::thread odd_writer(write, 1), even_writer(write, 2);
  int torn = 0, whole = 0;
  // On a busy machine both writers may take turns for so long that no reading comes between two of theirs.
  const auto begun = std::chrono::steady_clock::now();
  const auto end = begun + std::chrono::milliseconds(300), hang = begun + std::chrono::seconds(60);
  for (auto now = begun; now < (whole == 0 ? hang : end); now = std::chrono::steady_clock::now()) {
    for (int attempt = 0; attempt < 1'000; ++attempt) {
      const auto reading = shared.get();
      torn += reading.monotonic_ns != static_cast<std::int64_t>(3 * reading.tick);
      whole += reading.tick != 0;
    }
  }
  is_over = true;
  odd_writer.join();
  even_writer.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GT(whole, 0);
}

#if defined(__x86_64__)
TEST(fast_clock, is_not_read_for_each_line_of_a_second_thread) {
  const auto reads_of = [](int calls) {
    const std::uint64_t before = clock_reads;
    for (int call = 0; call < calls; ++call) tarn::detail::fast_ns_at(tarn::detail::clock_tick());
    return clock_reads - before;
  };
  constexpr int lines = 1'000;
  std::uint64_t min_reads = 2 * lines;
  for (int attempt = 0; attempt < 10; ++attempt) {  // a thread that is interrupted in a reading repeats it
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (reads_of(lines) != 0) ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::thread([&] { min_reads = std::min(min_reads, reads_of(lines)); }).join();
  }
  EXPECT_LE(min_reads, 2u) << "one of each clock of the system";
}
#endif

}  // namespace
