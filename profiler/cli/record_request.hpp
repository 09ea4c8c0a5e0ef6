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
#include "profiler/cpu/sampler.hpp"

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
// Returns the facts without the number of the process.
format::program_facts facts_of(const std::vector<std::string>& arguments, std::uint32_t sources,
                               std::uint64_t interval);
// Begins to sample the processor, for the next program or (not 0) for a process that runs, and adds that to the
// sources. Returns null where the kernel refuses it, and says so; throws a failure where nothing else is recorded.
std::unique_ptr<cpu::sampler> add_cpu_source(format::program_facts& facts, pid_t process);
// Takes the samples that have come, if that is due. `sampler` may be null.
void take_samples(cpu::sampler* sampler);
// Carries out a command that has come for this recording.
void obey(recorder_control& control, bounded_recording& files, const process_recording& recording);
void print_summary(std::uint32_t sources, process_recording& recording);

// Records the running process `request.process`, and removes the recorder's hooks in the end.
void record_attached(const record_request& request);

}  // namespace tarn::command
