// lab-appserver: the example server answers pages of `rows` rows under wrk, on loopback, for `seconds`. It is the
// running example of P. Sommerlad, Some Performance Patterns, EuroPLoP 2002. The server runs on the preloaded malloc;
// wrk does not. Unit: one request, in the server's CPU time. The program exits with 3 when there is no server
// (the build had no Boost) or no wrk.
//   global  its requests on the process's heap
//   tarn    an arena for each request, a heap for each worker
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "work.hpp"

namespace {

using lab::outcome;
using lab::settings;
namespace fs = std::filesystem;

constexpr std::string_view program = "appserver";

/// The server is beside this program in the build tree, and in ../../bin of it when installed.
std::string find_server() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* const way : {".", "../../bin"}) {
    const fs::path candidate = folder / way / "tarn-appserver";
    if (fs::exists(candidate, error)) return candidate.string();
  }
  lab::give_up(program, "no tarn-appserver in this build (it needs the Debian package libboost1.81-dev)");
}

/// Runs a program and reads its output; ends it with this object.
class child {
 public:
  explicit child(std::vector<std::string> command, bool is_preloaded) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) lab::give_up(program, "no pipe");
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments, variables;
    for (std::string& variable : command) arguments.push_back(variable.data());
    arguments.push_back(nullptr);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (is_preloaded || !std::string_view(*variable).starts_with("LD_PRELOAD=")) variables.push_back(*variable);
    }
    variables.push_back(nullptr);
    const int error = posix_spawnp(&process_, command[0].c_str(), &files, nullptr, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    if (error != 0 || output_ == nullptr) process_ = -1;
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (process_ > 0 && !is_over_) kill(process_, SIGTERM);
    wait();
    if (output_ != nullptr) std::fclose(output_);
  }
  bool runs() const { return process_ > 0; }
  pid_t process() const { return process_; }
  /// Returns the next line; empty at the end.
  std::string line() {
    std::array<char, 512> text{};
    return std::fgets(text.data(), text.size(), output_) == nullptr ? std::string() : std::string(text.data());
  }
  /// Returns its exit code, or -1.
  int wait() {
    if (process_ <= 0 || is_over_) return status_;
    int status = 0;
    is_over_ = waitpid(process_, &status, 0) == process_;
    status_ = is_over_ && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return status_;
  }

 private:
  pid_t process_ = -1;
  std::FILE* output_ = nullptr;
  bool is_over_ = false;
  int status_ = -1;
};

/// Returns the CPU time of all its threads, from the kernel's scheduler.
std::int64_t processor_ns_of(pid_t process) {
  std::int64_t sum = 0;
  std::error_code error;
  for (const fs::directory_entry& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", error)) {
    std::int64_t thread_ns = 0;
    std::ifstream(task.path() / "schedstat") >> thread_ns;
    sum += thread_ns;
  }
  return sum;
}

/// Returns the number behind `label` in `text`, or -1.
double number_after(const std::string& text, const std::string& label) {
  const std::size_t position = text.find(label);
  return position == text.npos ? -1 : std::strtod(text.c_str() + position + label.size(), nullptr);
}

bool has_wrk() {
  child wrk({"wrk", "-v"}, false);
  return wrk.runs();
}

std::string load(const std::string& port, std::uint64_t rows, std::uint64_t seconds) {
  child wrk({"wrk", "-t1", "-c16", "-d" + std::to_string(seconds), "--latency",
             "http://127.0.0.1:" + port + "/page?rows=" + std::to_string(rows)},
            false);
  if (!wrk.runs()) lab::give_up(program, "no wrk (Debian package wrk)");
  std::string text;
  for (std::string line = wrk.line(); !line.empty(); line = wrk.line()) text += line;
  if (wrk.wait() != 0 || text.find("Socket errors") != text.npos || text.find("Non-2xx") != text.npos) {
    std::fprintf(stderr, "lab-appserver: wrk was not answered as it should\n");
    std::exit(1);
  }
  return text;
}

outcome serve(const settings& parameters, const char* allocator) {
  child server({find_server(), "--config", "/dev/null", "--port", "0", "--allocator", allocator}, true);
  std::string port;
  for (std::string line = server.runs() ? server.line() : ""; !line.empty() && port.empty(); line = server.line()) {
    const std::size_t position = line.find("127.0.0.1:");
    if (position != line.npos) port = std::to_string(std::atoi(line.c_str() + position + 10));
    if (!port.empty()) break;
  }
  if (port.empty()) lab::give_up(program, "the server did not start");
  load(port, parameters["rows"], 1);  // warm-up
  const std::int64_t before = processor_ns_of(server.process());
  const std::string output = load(port, parameters["rows"], parameters["seconds"]);
  outcome result;
  result.ns = result.processor_ns = processor_ns_of(server.process()) - before;
  // "  123456 requests in 1.00s, 2.00GB read"
  std::size_t position = output.find(" requests in ");
  const std::size_t line = output.rfind('\n', position) + 1;
  result.units = std::strtoull(output.c_str() + (line == 0 ? 0 : line), nullptr, 10);
  if (result.units == 0) lab::give_up(program, "no request was answered");
  result.checksum = parameters["rows"];
  result.counts = {{"requests a second", number_after(output, "Requests/sec:")}};
  position = output.find("99%");
  if (position != output.npos) {
    char* unit = nullptr;
    const double number = std::strtod(output.c_str() + position + 3, &unit);
    result.counts.emplace_back("p99 us", number * (unit[0] == 'u' ? 1 : unit[0] == 'm' ? 1e3 : 1e6));
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  find_server();
  if (!has_wrk()) lab::give_up(program, "no wrk (Debian package wrk)");
  return lab::main_of(
      count, arguments, program,
      {{.name = "rows", .usual = 256, .maximum = 100'000}, {.name = "seconds", .usual = 1, .maximum = 60}},
      {{"global", [](const settings& parameters) { return serve(parameters, "global"); }},
       {"tarn", [](const settings& parameters) { return serve(parameters, "tarn"); }}});
}
