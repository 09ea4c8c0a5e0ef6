#include "profiler/collect/control.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "profiler/base/failure.hpp"
#include "profiler/collect/attach.hpp"
#include "profiler/collect/namespaces.hpp"
#include "profiler/collect/watched_process.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

// A recorder answers after it has written its counts, which takes less than a second even if they are many.
constexpr std::chrono::minutes longest_wait{1};

std::uint64_t inode_of(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 && S_ISFIFO(facts.st_mode) ? facts.st_ino : 0;
}

}  // namespace

recorder_control::recorder_control(region_file& region) : region_(region) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  read_end_ = ends[0];
  write_end_ = ends[1];
  region_.offer_control(
      {static_cast<std::uint32_t>(::getpid()), static_cast<std::uint32_t>(write_end_), inode_of(write_end_), true, 0});
}

recorder_control::~recorder_control() {
  region_.offer_control({});
  if (read_end_ < 0) return;
  ::close(read_end_);
  ::close(write_end_);
}

recording_command recorder_control::next() const {
  auto command = recording_command::no_command;
  return ::read(read_end_, &command, 1) == 1 ? command : recording_command::no_command;
}

void obey(recorder_control& control, bounded_recording& files, const process_recording& recording) {
  const recording_command command = control.next();
  if (command == recording_command::stop && !files.is_paused()) {
    files.pause();
    print_error("tarn: recording stopped; {} {}\n", recording.path(),
                recording.is_whole() ? "has what was before" : "is not whole");
  } else if (command == recording_command::start && files.is_paused() && files.resume()) {
    print_error("tarn: recording started again, in {}\n", recording.path());
  }
  if (command != recording_command::no_command) control.answer(!files.is_paused());
}

void command_recorder(pid_t process, recording_command command) {
  const std::string region_path = find_region(process);
  const auto fail_as_unrecorded = [&] {
    fail(exit_code::io_error, "process {} is not recorded; see tarn record --help", process);
  };
  if (region_path.empty()) fail_as_unrecorded();
  const region_file region(region_path);
  const control_facts before = region.control();
  if (region.has_spares())
    fail(exit_code::usage, "process {} is recorded with its children, which cannot be stopped", process);
  const std::uint32_t own_number = own_number_of(process, static_cast<std::uint32_t>(process));
  const bool is_child = own_number != region.process() && own_number != before.recorder && before.recorder != 0;
  if (is_child) fail_as_unrecorded();
  const bool is_start = command == recording_command::start;
  const std::string path = fmt::format("/proc/{}/fd/{}", before.recorder, before.descriptor);
  const int pipe = before.recorder == 0 ? -1 : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (pipe < 0 || inode_of(pipe) != before.inode) {
    if (pipe >= 0) ::close(pipe);
    fail(exit_code::io_error, "process {} is no longer recorded: its tarn record has ended, or is not seen from here",
         process);
  }
  const watched_process recorder(before.recorder);
  if (before.is_recording == is_start) {
    ::close(pipe);
    fail(exit_code::usage, "the recording of process {} {} already", process, is_start ? "runs" : "is stopped");
  }
  const bool is_written = ::write(pipe, &command, 1) == 1;
  ::close(pipe);
  const auto deadline = steady::now() + longest_wait;
  while (is_written && region.control().answers == before.answers && !recorder.has_ended() &&
         steady::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const control_facts after = region.control();
  if (after.answers == before.answers)
    fail(exit_code::io_error, "process {}: tarn record (process {}) does not answer", process, before.recorder);
  if (after.is_recording != is_start)
    fail(exit_code::io_error, "the recording of process {} has not started: its tarn record says why", process);
}

}  // namespace tarn::command
