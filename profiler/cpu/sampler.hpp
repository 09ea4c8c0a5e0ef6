// Samples the processor for `tarn record`: takes the kernel's records, and makes stacks of them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "profiler/cpu/perf_events.hpp"
#include "profiler/cpu/stack_samples.hpp"

namespace tarn::cpu {

class sampler {
 public:
  // Samples the next program that this process starts, with its children.
  sampler() = default;
  // Samples a process that runs already.
  explicit sampler(pid_t process);

  // Returns the errno of the refusal; 0 if the kernel samples.
  int error() const { return events_.error(); }
  bool is_kernel_hidden() const { return events_.is_kernel_hidden(); }
  void keep_only(pid_t process) { samples_.keep_only(process); }

  using steady = std::chrono::steady_clock;
  // Takes the records so far. Call it at next(): the rings have room for a third of a second, and for less of it while
  // threads switch often.
  void take();
  steady::time_point next() const {
    const std::lock_guard lock(mutex_);
    return next_;
  }
  // Ends the sampling, and takes all that has come.
  void stop();

  // Copies the samples of a process (stack_samples::read).
  void read(pid_t process, std::uint64_t begun_ns, std::uint32_t first_image, format::cpu_recording& target) const;

 private:
  void take_until(std::uint64_t bound_ns);
  // Returns whether the thread may have executed something since the records so far.
  bool goes_on(pid_t thread);
  void take_now();
  void read_delays();

  mutable std::mutex mutex_;  // guards all of the following
  perf_events events_;
  stack_samples samples_;
  std::vector<perf_record> pending_, later_;  // later ones came while `pending_` was added
  std::chrono::milliseconds pause_{2};
  steady::time_point next_{}, next_delays_{};
  bool is_over_ = false;
  std::unique_ptr<processor_watch> watch_;  // last: its threads use the others
};

}  // namespace tarn::cpu
