// Records the processes that a recorded one starts, each in a file of its own.
//
// One region for each lies ready, so that a child finds one however short it lives; its counters stay there.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/collect/process_recording.hpp"
#include "profiler/collect/watched_process.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/launch/limits.hpp"

namespace tarn::command {

class children {
 public:
  // Follows no children until offer_to() is called.
  children() = default;

  // Begins to follow the process of this region and every process that it starts. `sampler` is null where the
  // processor is not sampled.
  void offer_to(region_file& first, std::uint32_t sources, std::uint64_t interval, const region_sizes& sizes,
                const cpu::sampler* sampler);

  // Notices new children, and writes the changes of those that are due or have ended; if `writes_now`, those of all.
  // The file of each is `path`.PROCESS, with the process's number in our namespace. `first` describes the process that
  // was started. Returns the time of the next call.
  std::chrono::steady_clock::time_point write_changes(const std::string& path, const format::program_facts& first,
                                                      bool writes_now = false);

  // Ends their recordings before they end; `path` and `first` are those of write_changes().
  void end_early(const std::string& path, const format::program_facts& first, recorder_prices& prices);

  // Writes the cost of recording each of them so far.
  void write_work(recorder_prices& prices);

  bool has_running() const;
  // Returns the running children for poll(2), so that the caller comes back as soon as one ends.
  std::vector<pollfd> poll_entries() const;

  // Ends the recording of a launcher. Of the programs that it started, the one with the most CPU time takes its
  // place, unless the launcher itself became a program; the files of all other processes are removed. Returns the
  // recording that is left, and prints it if it is not the launcher's.
  process_recording& keep_longest_running(process_recording& launcher);

  // Writes, into the file of each child, which programs it started or became that were not recorded.
  void write_unrecorded();

  // Prints how many children there were and where they are recorded; prints nothing when there was none.
  void print_summary(const region_file& first) const;

 private:
  struct child_process {
    std::string file_suffix;    // names the process in its file's name; empty until there is a process
    std::uint32_t process = 0;  // its number in our namespace if it is found there, else in its own
    std::unique_ptr<process_recording> recording;
    std::unique_ptr<watched_process> watched;  // null until there is a process
    bool is_over = false;                      // the process has ended, and its counters are written
    bool has_end = false;                      // the end record is written
  };
  static bool watch(child_process& child, const namespace_process& owner, std::size_t index);

  std::vector<child_process> children_;
  const region_file* first_region_ = nullptr;
  bool has_said_failure_ = false;  // the file of a child could not be written
};

}  // namespace tarn::command
