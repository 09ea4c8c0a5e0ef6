// The parts that all groups share: the amounts, the folder, and the measurement of CPU time.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "idle_thread.hpp"
#include "process.hpp"
#include "processors.hpp"

namespace bench_io {

using bench::idle_thread;

struct settings {
  int rounds = 9;
  bool is_check = false;  // runs small amounts, to check that the forms agree
  std::size_t count_bytes = std::size_t{100} << 20;
  std::size_t text_bytes = 1'000'000'000;
  std::size_t lines = 300'000;
  std::size_t look_ups = 2'000'000;
  std::size_t files = 10'000;
  int kills = 1000;
  int patience = 30;  // the number of times that an unfair run is repeated
};

struct outcome {
  double processor_ns;       // for each unit and thread
  std::uint64_t result = 0;  // all forms have the same
  bool is_fair = true;       // the threads ran at the same time, each on a processor of its own
};

struct form {
  std::string name;
  std::function<outcome()> run;
  bool has_result = true;
  bool is_slow = false;
};

/// Limits the figure of the form `measured`, divided by that of `baseline`.
struct goal {
  std::string description, measured, baseline;
  double ratio;
  bool is_most;
  bool is_of_threads = false;  // says nothing when no round was fair
};

struct group {
  std::string title, unit;
  double scale;  // ns in the unit
  std::vector<form> forms;
  std::vector<goal> goals;
};

class folder {
 public:
  folder() {
    std::string name = std::filesystem::temp_directory_path() / "tarn-bench-XXXXXX";
    path_ = mkdtemp(name.data()) != nullptr ? name : ".";
  }
  ~folder() {
    std::error_code ignored;
    if (path_ != ".") std::filesystem::remove_all(path_, ignored);
  }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline double thread_ns() { return static_cast<double>(bench::thread_ns()); }
inline double wall_ns() { return static_cast<double>(bench::now_ns()); }

/// Times all of `body`, which returns the result.
template <class Body>
outcome timed(Body body, double units = 1) {
  const double start = thread_ns();
  const std::uint64_t result = body();
  return {(thread_ns() - start) / units, result};
}

/// Binds the calling thread to its own processor: on a busy machine two threads might otherwise share one.
inline void settle(unsigned thread) {
  const int processor = bench::processor_at(bench::allowed_processors(), thread);
  if (processor >= 0) bench::bind_to_processor(processor);
}

/// Runs `body(thread)` in `threads` threads at once and returns the mean of their times. The run is fair if each had
/// a processor all the time: then its wall time hardly exceeds its CPU time.
template <class Body>
outcome timed_threads(unsigned threads, Body body, double units) {
  std::atomic<unsigned> ready{0};
  std::vector<double> spent(threads), passed(threads);
  std::vector<std::thread> timed;
  for (unsigned thread = 0; thread < threads; ++thread) {
    timed.emplace_back([&, thread] {
      if (threads > 1) settle(thread);
      for (++ready; ready != threads;) {
      }
      const double start = thread_ns(), wall = wall_ns();
      body(thread);
      passed[thread] = wall_ns() - wall;
      spent[thread] = thread_ns() - start;
    });
  }
  double sum = 0;
  bool is_fair = true;
  for (std::thread& thread : timed) thread.join();
  for (unsigned thread = 0; thread < threads; ++thread) {
    sum += spent[thread];
    is_fair = is_fair && (threads == 1 || passed[thread] < 1.1 * spent[thread]);
  }
  return {sum / threads / units, 0, is_fair};
}

}  // namespace bench_io
