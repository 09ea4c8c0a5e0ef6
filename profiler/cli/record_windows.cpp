// The options of `tarn record` that divide a recording into files, and send these to a store.
#include <chrono>
#include <memory>
#include <string>

#include "profiler/base/failure.hpp"
#include "profiler/cli/labels.hpp"
#include "profiler/cli/record_request.hpp"
#include "profiler/format/part.hpp"

namespace tarn::command {
namespace {

constexpr const char* default_window = "60s";
constexpr std::size_t default_files = 61;  // an hour of such windows, and the current one

}  // namespace

void add_window_options(CLI::App& command, record_request& request) {
  command
      .add_option("--every", request.every,
                  "begin a new file after each such time: FILE.1, FILE.2 …; each has what happened in its time")
      ->type_name("TIME")
      ->excludes("--follow");
  command
      .add_option("--keep", request.keep,
                  fmt::format("with --every: keep the last N files; default all, with --continuous or --push {}",
                              default_files))
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->type_name("N");
  command
      .add_flag(
          "--continuous", request.is_continuous,
          fmt::format("record until the program ends, as with --every {} --keep {}", default_window, default_files))
      ->excludes("--follow");
  CLI::Option* const push =
      command
          .add_option("--push", request.push,
                      "with --every or --continuous: send each file, when its time is over, as pprof to the Pyroscope "
                      "server at URL")
          ->type_name("URL");
  add_label_option(command, request.labels)->needs(push);
}

void complete_windows(record_request& request) {
  if (request.is_continuous && request.every.empty()) request.every = default_window;
  for (const auto& [option, is_given] :
       {std::pair("--keep", request.keep != 0), std::pair("--push", !request.push.empty())}) {
    if (is_given && request.every.empty()) fail(exit_code::usage, "{} requires --every or --continuous", option);
  }
  if (request.keep == 0 && (request.is_continuous || !request.push.empty())) request.keep = default_files;
  if (request.keep == 1 && !request.push.empty())
    fail(exit_code::usage, "--push requires a --keep of at least 2: one file is sent while the next one is written");
}

recording_bounds bounds_of(const record_request& request) {
  const auto duration_of = [](const char* option, const std::string& text) {
    constexpr std::uint64_t longest_ns = std::uint64_t{1} << 60;
    if (text.ends_with('%'))
      fail(exit_code::usage, "{} {}: a percentage needs a known duration; write 30s or 2min", option, text);
    const std::chrono::nanoseconds duration(text.empty() ? 0 : time_of(text, longest_ns));
    if (!text.empty() && duration < std::chrono::milliseconds(10))
      fail(exit_code::usage, "{} {}: shorter than 10 ms", option, text);
    return duration;
  };
  return {duration_of("--for", request.duration), duration_of("--every", request.every), request.keep};
}

std::unique_ptr<file_pusher> start_pusher(const record_request& request) {
  if (request.push.empty()) return nullptr;
  return std::make_unique<file_pusher>(profile_store(request.push), labels_of(request.labels), request.keep - 1);
}

void connect(bounded_recording& files, file_pusher* pusher) {
  if (pusher == nullptr) return;
  files.set_listener([pusher](const std::string& path, const exports::time_range& time) { pusher->add(path, time); });
}

void finish_pusher(bounded_recording& files, file_pusher* pusher, const std::function<bool()>& is_stopped) {
  if (pusher == nullptr) return;
  files.tell_of_last();
  pusher->finish(is_stopped);
}

}  // namespace tarn::command
