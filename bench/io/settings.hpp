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

namespace bench_io {

struct settings {
  int rounds = 9;
  bool is_check = false;  // small: do the forms agree?
  std::size_t count_bytes = std::size_t{100} << 20;
  std::size_t text_bytes = 1'000'000'000;
  std::size_t lines = 300'000;
  std::size_t look_ups = 2'000'000;
  std::size_t files = 10'000;
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
  bool is_of_threads = false;  // says nothing unless the control shows that they ran at the same time
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

/// `body(thread)` by so many threads at once; the mean of their times.
template <class Body>
outcome timed_threads(unsigned threads, Body body, double units) {
  std::atomic<unsigned> here{0};
  std::vector<double> spent(threads);
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      if (threads > 1) settle(thread);
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

constexpr const char* control = "control: one word, fetch_add";
constexpr const char* control_of_two = "control: one word, fetch_add, 2 threads";

/// What must take longer for two threads than for one, if they run at the same time.
inline void add_control(group& to, std::size_t times) {
  const auto word = std::make_shared<std::atomic<std::uint64_t>>(0);
  for (const unsigned threads : {1u, 2u}) {
    to.forms.push_back({threads == 1 ? control : control_of_two,
                        [=] {
                          return timed_threads(
                              threads,
                              [&](unsigned) {
                                for (std::size_t at = 0; at < times; ++at) word->fetch_add(1);
                              },
                              static_cast<double>(times));
                        },
                        false});
  }
}

}  // namespace bench_io
