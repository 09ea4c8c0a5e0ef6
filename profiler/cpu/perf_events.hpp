// Has the kernel copy the registers and the stack of each thread of a program, 199 times in each second that the thread
// runs, into rings that this process reads (perf_event_open). No signal reaches the program.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/cpu/processor_watch.hpp"

namespace tarn::cpu {

// A prime number, so that samples do not keep step with work that a program does every millisecond.
constexpr std::uint64_t samples_per_second = 199;
constexpr std::uint64_t sample_interval_ns = 1'000'000'000 / samples_per_second;
// The size of the copied part of a stack. A ring has room for some sixty such samples.
constexpr std::uint32_t stack_bytes = 8192;

struct perf_record {
  std::uint64_t at_ns = 0;  // by the monotonic clock
  std::vector<std::byte> bytes;
  bool is_of_stop = false;  // a sample of a thread that stops, not of one that runs
  bool is_still = false;    // a sample since which the thread has executed nothing, as far as is known
};

// Tells which samples among the records, which are in the order of time, have `is_still`: those after which the thread
// stopped at once, and did not go on.
void mark_still(std::vector<perf_record>& records);
// Returns whether a thread may have gone on by these records.
bool may_go_on(const std::vector<perf_record>& records, pid_t thread);

// Returns the time in a record; 0 for one that is too short to have one.
std::uint64_t time_of(const std::vector<std::byte>& record);

// Parts of the rings' sizes, from 0 to 1.
struct ring_fill {
  double clock = 0, stops = 0;
};

class perf_events {
 public:
  // Samples the next program that this process starts, with its threads and children, from its exec on.
  perf_events();
  // Samples the threads of a running process, and the threads and children that they start.
  explicit perf_events(pid_t process);
  perf_events(const perf_events&) = delete;
  perf_events& operator=(const perf_events&) = delete;
  ~perf_events();

  // Returns the errno of the refusal; 0 if the kernel samples.
  int error() const { return error_; }
  bool is_kernel_hidden() const { return is_kernel_hidden_; }

  // Appends the records that have come, in the order of each processor. One about lost records has the time from which
  // on they may be lost. Returns how full the fullest rings were.
  ring_fill take(std::vector<perf_record>& records);
  // Returns the processors, each with a descriptor that becomes readable by poll() when a sample was taken there.
  std::vector<watched_processor> processors() const;
  // Ends the sampling; the records so far can still be taken.
  void stop();
  // Gives everything back: no further program that this process starts is sampled.
  void close();

 private:
  // `stops` are where a thread ceases to run. They have rings of their own, so that they take no room from the records
  // of switches: records without room there are dropped, which bounds the cost.
  enum class event { clock, stops };
  struct ring {
    event kind = event::clock;
    int processor = 0;
    int file = -1;
    void* start = nullptr;
    std::size_t bytes = 0;      // of the records; a page with the positions precedes them
    std::uint64_t last_ns = 0;  // time of the last record
  };
  // Returns a descriptor, or the errno as its negative.
  int open_event(event kind, pid_t thread, int processor, bool is_next_program) const;
  static bool map(ring& mapped);
  bool add_ring(event kind, int processor, int file);
  bool add_thread(pid_t thread, bool is_next_program);
  void add_stops(pid_t thread, bool is_next_program);

  std::vector<ring> rings_;
  std::vector<int> files_;
  int error_ = 0;
  bool is_kernel_hidden_ = false;
};

}  // namespace tarn::cpu
