// The recorded program, as a child of this process: how it starts, is waited for, and ends.
#pragma once

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/collect/process_state.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/launch/processor_counts.hpp"
#include "profiler/launch/program.hpp"

namespace tarn::command {

// One at a time, because it has the signals of this process.
class started_program {
 public:
  // Starts the program at `path`. From then on it gets the signals that are meant for it. Throws a failure if there is
  // no process for it.
  started_program(const std::vector<std::string>& arguments, const std::string& path, start method);
  started_program(const started_program&) = delete;
  started_program& operator=(const started_program&) = delete;

  pid_t process() const { return process_; }

  // Waits until the program ends, one of these descriptors is ready, or `until` is reached. Returns whether the program
  // has ended.
  bool wait(std::vector<pollfd> descriptors, std::chrono::steady_clock::time_point until);
  // Once it has ended, returns how, and what it used until now.
  format::end_facts end(const processor_counts& counts) const;

  // Only processes that the program left behind may still run: from now on a signal ends their recording.
  void stop_on_signals() const;
  // Returns whether there was such a signal.
  static bool is_stopped();

  // Ends this process in the way the program ended.
  [[noreturn]] void end_alike() const;

 private:
  pid_t process_ = -1;
  std::uint64_t begun_ns_;
  int status_ = 0;
  std::uint64_t user_us_ = 0, system_us_ = 0;  // of the program alone
  std::uint64_t counted_us_ = 0;               // with that of its children, whose instructions are counted, too
  input_output_counts input_output_;
};

}  // namespace tarn::command
