// The request of `tarn record`, for a program that it starts or for a running process.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiler/collect/control.hpp"
#include "profiler/collect/file_pusher.hpp"
#include "profiler/collect/process_recording.hpp"
#include "profiler/collect/recording_bounds.hpp"

namespace tarn::command {

// The sampling interval in bytes, where each block counts as 256 bytes more: one small block in some hundreds is
// sampled.
constexpr std::uint64_t default_interval = 128 * 1024;

struct record_request {
  std::string output = "tarn.rec";
  std::string library;
  bool records_heap = false, records_locks = false, records_syscalls = false, records_cpu = false;
  bool records_all = false, searches_leaks = false, searches_contents = false, follows_children = false;
  std::uint64_t interval = default_interval;
  std::string duration, every;
  std::size_t keep = 0;
  bool is_continuous = false;
  std::string push;  // the store
  std::vector<std::string> labels;
  int process = 0;  // a running one

  bool searches_heap() const { return searches_leaks || searches_contents; }
};

// Returns the requested sources, or all where none is named. Where this kernel or processor cannot dispatch system
// calls, it leaves them out with a message, or throws a failure if they are named.
std::uint32_t sources_of(const record_request& request);
// Adds the options that divide a recording into files, and that push these.
void add_window_options(CLI::App& command, record_request& request);
// Sets their defaults. Throws a failure where one lacks another one.
void complete_windows(record_request& request);
recording_bounds bounds_of(const record_request& request);
// Returns null without --push.
std::unique_ptr<file_pusher> start_pusher(const record_request& request);
// `pusher` may be null in these functions.
void connect(bounded_recording& files, file_pusher* pusher);
void finish_pusher(bounded_recording& files, file_pusher* pusher, const std::function<bool()>& is_stopped);
// Records the program, ends the recording with it, and ends this process as the program ended.
[[noreturn]] void record_program(const record_request& request, const std::vector<std::string>& arguments);

// Records the running process `request.process`, and removes the recorder's hooks in the end.
void record_attached(const record_request& request);

}  // namespace tarn::command
