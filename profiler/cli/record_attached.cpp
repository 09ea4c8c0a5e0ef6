// `tarn record --pid`: records a process that runs already, until a signal, its end, or --for.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/output_file.hpp"
#include "profiler/cli/record_request.hpp"
#include "profiler/collect/program_facts.hpp"
#include "profiler/collect/recorder_prices.hpp"
#include "profiler/collect/summary.hpp"
#include "profiler/collect/watched_process.hpp"
#include "profiler/format/unhooked.hpp"
#include "profiler/launch/access.hpp"
#include "profiler/launch/attachment.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/launch/recording_lock.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

// Address space, of which a page takes memory once it is touched.
constexpr std::uint64_t attached_region_bytes = std::uint64_t{1} << 30;

volatile std::sig_atomic_t is_interrupted = 0;
void interrupt(int) { is_interrupted = 1; }

// Makes a signal end the recording instead of this process, which has to detach first.
void detach_on_signals() {
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

std::vector<std::string> words_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string word; std::getline(file, word, '\0');) arguments.push_back(word);
  return arguments;
}

double milliseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) * 1e-6; }

std::unique_ptr<process_recording> open_region(const record_request& request, std::uint32_t sources,
                                               const std::string& path, bool is_new) {
  const int file = lock_for_recording(request.process, path, O_RDWR);
  return is_new ? std::make_unique<process_recording>(file, sources, request.interval, attached_region_bytes)
                : std::make_unique<process_recording>(file, sources, request.interval);
}

format::end_facts end_of(const process_recording& recording, const watched_process& process) {
  format::end_facts end = recording.so_far();
  const std::optional<int> status = process.status();
  const auto ending = recording.region().read_end_facts();
  end.is_running = false;
  end.has_unknown_way = !status && !ending;
  if (status) {
    end.status_is_signal = WIFSIGNALED(*status);
    end.status = static_cast<std::uint32_t>(end.status_is_signal ? WTERMSIG(*status) : WEXITSTATUS(*status));
  } else if (ending) {
    end.status = ending->status;
  }
  return end;
}

// Names the functions whose calls another function takes before they reach the recorder.
void report_unhooked(pid_t process, long functions, std::uint32_t sources) {
  std::vector<std::string_view> names;
  for (const format::checked_function& function : format::checked_functions) {
    const std::uint32_t source = source_bit(function.is_of_heap ? format::heap_kind : format::lock_kind);
    if ((functions & format::unhooked_bit(function.name)) != 0 && (sources & source) != 0)
      names.push_back(function.name);
  }
  if (names.empty()) return;
  print_error(
      "tarn: not all calls of {} by process {} are recorded: other functions stand in for them (another "
      "profiler?); start the program with tarn record -- PROGRAM\n",
      fmt::join(names, " and "), process);
}

void wait_until(const watched_process& process, const recorder_control& control, steady::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now()).count();
  std::array<pollfd, 2> descriptors{pollfd{process.descriptor(), POLLIN, 0}, pollfd{control.descriptor(), POLLIN, 0}};
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
}

// Returns false if a file could not be written to its end, or the hooks could not be removed. `is_attached` is set once
// the process is recorded.
bool record_watched(const record_request& request, const watched_process& watched, bool& is_attached) {
  using enum format::kind;
  const pid_t process = request.process;
  const recording_bounds bounds = bounds_of(request);
  const std::string library = find_library("libtarn-record.so", request.library);
  std::uint32_t sources = request.records_heap ? source_bit(heap_kind) : 0;
  if (request.records_locks) sources |= source_bit(lock_kind);
  if (sources == 0 && !request.records_cpu) sources = source_bit(heap_kind) | source_bit(lock_kind);
  if (::kill(process, 0) == 0)  // from here on until this process ends
    lock_for_recording(process, fmt::format("/proc/{}", process), O_RDONLY | O_DIRECTORY);
  require_attachable(process);
  format::program_facts facts = facts_of(words_of(process), sources, request.interval);
  facts.process = static_cast<std::uint64_t>(process);
  try {  // before the process is touched
    format::require_writable(request.every.empty() ? request.output : request.output + ".1");
  } catch (const std::system_error& error) {
    fail(exit_code::io_error, "{}{}", error.what(), missing_folder_text(request.output, error.code().value()));
  }
  const std::unique_ptr<cpu::sampler> sampler = request.records_cpu ? add_cpu_source(facts, process) : nullptr;
  const std::unique_ptr<file_pusher> pusher = start_pusher(request);
  detach_on_signals();
  std::unique_ptr<process_recording> recording;
  const attachment attached = attach_to(process, library, [&](const std::string& path, bool is_new) {
    recording = open_region(request, sources, path, is_new);
  });
  is_attached = true;
  take_samples(sampler.get());  // drops the samples from before the recording
  if (sampler != nullptr) recording->use_sampler(*sampler, std::max(recording->region().images(), 1U) - 1);
  recorder_prices prices(library, sources, false);
  bounded_recording files(*recording, prices, request.output, bounds);
  connect(files, pusher.get());
  try {
    files.begin_late(facts);
  } catch (const std::system_error& error) {
    detach_from(process);
    fail(exit_code::io_error, "{}", error.what());
  }
  recorder_control control(recording->region());
  print_error("tarn: recording process {}, one thread of which stood still for {:.1f} ms; Ctrl-C ends it\n", process,
              milliseconds(attached.stopped));
  report_unhooked(process, attached.unhooked, sources);
  if ((sources & source_bit(lock_kind)) != 0 || sampler != nullptr) recording->watch_lasting_waits();
  while (is_interrupted == 0 && !watched.has_ended() && !files.is_over()) {
    wait_until(watched, control, sampler == nullptr ? files.next() : std::min(files.next(), sampler->next()));
    take_samples(sampler.get());
    if (watched.has_ended()) break;
    obey(control, files, *recording);
    files.write_changes();
  }
  bool keeps_hooks = false;
  recording->end_lasting_waits(watched.has_ended());
  if (sampler != nullptr) sampler->stop();
  if (watched.has_ended()) {
    if (!files.is_paused()) {
      recording->write_changes();
      recording->write_end(end_of(*recording, watched));
      recording->write_work(prices);
    }
    print_error("tarn: process {} has ended\n", process);
  } else {
    std::string reason;
    try {
      const std::chrono::nanoseconds pause = detach_from(process);
      reason = fmt::format("process {} goes on; one thread stood still for {:.1f} ms", process, milliseconds(pause));
    } catch (const failure& error) {
      reason = error.what();
      keeps_hooks = has_recorder(process);
    }
    files.end_early();
    print_error("tarn: {}\n", reason);
    if (keeps_hooks) {
      print_error(
          "tarn: process {} keeps the recorder's hooks, though nothing more is written; tarn record --pid {} "
          "--for 1s removes them\n",
          process, process);
    }
  }
  files.finish();
  print_summary(sources, *recording);
  is_interrupted = 0;
  finish_pusher(files, pusher.get(), [] { return is_interrupted != 0; });
  return !recording->has_failed() && !keeps_hooks;
}

}  // namespace

// A process that ends while it is looked at has no program, no C library and no threads, each of which has a message of
// its own.
void record_attached(const record_request& request) {
  require_proc();
  const pid_t process = request.process;
  if (const pid_t owner = process_of_thread(process); owner != 0 && owner != process) {
    fail(exit_code::io_error, "{} is a thread of process {}; record that: tarn record --pid {}", process, owner, owner);
  }
  const watched_process watched(static_cast<std::uint32_t>(process));
  const bool is_there = ::kill(process, 0) == 0;
  bool is_attached = false, is_whole = false;
  try {
    if (is_there && watched.has_ended()) fail(exit_code::io_error, "it has ended");
    is_whole = record_watched(request, watched, is_attached);
  } catch (const failure& reason) {
    constexpr int longest_end_ms = 300;  // a process that ends has lost its threads before it has ended
    pollfd end{watched.descriptor(), POLLIN, 0};
    if (is_attached || !is_there || reason.code() == exit_code::usage || ::poll(&end, 1, longest_end_ms) != 1) throw;
    fail(exit_code::io_error, "process {} has ended; nothing was recorded", process);
  }
  if (!is_whole) std::exit(static_cast<int>(exit_code::io_error));  // the reason has been printed
}

}  // namespace tarn::command
