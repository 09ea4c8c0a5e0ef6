// What all groups share: how much, where, and how processor time is taken.
#pragma once

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace bench_io {

struct settings {
  int rounds = 9;
  bool is_check = false;  // small: do the forms agree?
  std::size_t count_bytes = std::size_t{100} << 20;
  std::size_t text_bytes = 1'000'000'000;
  std::size_t lines = 300'000;
  std::size_t look_ups = 2'000'000;
};

struct outcome {
  double processor_ns;       // by unit and thread
  std::uint64_t result = 0;  // the same for all forms
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
};

struct group {
  std::string title, unit;
  double scale;  // ns in the unit
  std::vector<form> forms;
  std::vector<goal> goals;
};

class idle_thread {
 public:
  ~idle_thread() {
    done_.test_and_set();
    done_.notify_one();
    thread_.join();
  }

 private:
  std::atomic_flag done_;
  std::thread thread_{[this] { done_.wait(false); }};
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

/// All of `body`, which gives the result.
template <class Body>
outcome timed(Body body, double units = 1) {
  const double start = thread_ns();
  const std::uint64_t result = body();
  return {(thread_ns() - start) / units, result};
}

/// `body(thread)` by so many threads at once; the mean of their times.
template <class Body>
outcome timed_threads(unsigned threads, Body body, double units) {
  std::atomic<unsigned> here{0};
  std::vector<double> spent(threads);
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      for (++here; here != threads;) {
      }
      const double start = thread_ns();
      body(thread);
      spent[thread] = thread_ns() - start;
    });
  }
  double sum = 0;
  for (std::thread& thread : all) thread.join();
  for (const double each : spent) sum += each;
  return {sum / threads / units};
}

}  // namespace bench_io
