// What all groups share: how much, where, and how processor time is taken.
#pragma once

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "idle_thread.hpp"

namespace bench_io {

using bench::idle_thread;

struct settings {
  int rounds = 9;
  bool is_check = false;  // small: do the forms agree?
  std::size_t count_bytes = std::size_t{100} << 20;
  std::size_t text_bytes = 1'000'000'000;
  std::size_t lines = 300'000;
  std::size_t look_ups = 2'000'000;
  std::size_t files = 10'000;
  int kills = 1000;
  int patience = 30;  // times that an unfair run is repeated
};

struct outcome {
  double processor_ns;       // by unit and thread
  std::uint64_t result = 0;  // the same for all forms
  bool is_fair = true;       // of threads: they ran at the same time, each on a processor of its own
};

struct form {
  std::string name;
  std::function<outcome()> run;
  bool has_result = true;
  bool is_slow = false;
};

/// `of` over `over`.
struct goal {
  std::string words, of, over;
  double wanted;
  bool is_most;
  bool is_of_threads = false;  // says nothing where no round was fair
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

inline double thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline double wall_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// All of `body`, which gives the result.
template <class Body>
outcome timed(Body body, double units = 1) {
  const double start = thread_ns();
  const std::uint64_t result = body();
  return {(thread_ns() - start) / units, result};
}

/// The calling thread on a processor of its own: otherwise, on a busy machine, two threads may take turns on one.
inline void settle(unsigned thread) {
  cpu_set_t allowed, own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed) && thread-- == 0) CPU_SET(processor, &own);
  }
  if (CPU_COUNT(&own) == 1) sched_setaffinity(0, sizeof own, &own);
}

/// `body(thread)` by so many threads at once; the mean of their times. Fair if all that time they had processors: then
/// the wall saw no more of them than their clocks.
template <class Body>
outcome timed_threads(unsigned threads, Body body, double units) {
  std::atomic<unsigned> here{0};
  std::vector<double> spent(threads), passed(threads);
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      if (threads > 1) settle(thread);
      for (++here; here != threads;) {
      }
      const double start = thread_ns(), wall = wall_ns();
      body(thread);
      passed[thread] = wall_ns() - wall;
      spent[thread] = thread_ns() - start;
    });
  }
  double sum = 0;
  bool is_fair = true;
  for (std::thread& thread : all) thread.join();
  for (unsigned thread = 0; thread < threads; ++thread) {
    sum += spent[thread];
    is_fair = is_fair && (threads == 1 || passed[thread] < 1.1 * spent[thread]);
  }
  return {sum / threads / units, 0, is_fair};
}

}  // namespace bench_io
