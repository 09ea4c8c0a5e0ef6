#include "profiler/launch/calibrate.hpp"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <tarn/version.hpp>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/format/build_id.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/predict/measure_calls.hpp"
#include "profiler/report/report.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;
using analyse::cost_model;
using nlohmann::json;

std::string processor() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";  // 64-bit Arm does not name it
}

analyse::cost_facts facts_of_today() {
  utsname system{};
  ::uname(&system);
  std::array<char, 32> date{};
  const std::time_t now = std::time(nullptr);
  std::strftime(date.data(), date.size(), "%FT%TZ", std::gmtime(&now));
  return {fmt::format("{}, {} of them; {} {}", processor(), ::sysconf(_SC_NPROCESSORS_ONLN), system.sysname,
                      system.release),
          std::string("glibc ") + ::gnu_get_libc_version(),
          fmt::format("{}.{}.{} {}", TARN_VERSION_MAJOR, TARN_VERSION_MINOR, TARN_VERSION_PATCH,
                      format::build_id_of("/proc/self/exe")),
          date.data()};
}

// Returns an empty path if there is no home folder for the file.
fs::path cost_file() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "tarn" / "costs.json";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "tarn" / "costs.json";
  return {};
}

// Removes the user's variables that change an allocator.
[[noreturn]] void become(const std::vector<std::string>& command, const std::string& preloaded, int input, int output) {
  std::vector<std::string> unwanted;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string setting = *entry;
    const std::string name = setting.substr(0, setting.find('='));
    if (name.starts_with("TARN_") || name.starts_with("LD_") || name.starts_with("MALLOC_") ||
        name == "GLIBC_TUNABLES") {
      unwanted.push_back(name);
    }
  }
  for (const std::string& entry : unwanted) ::unsetenv(entry.c_str());
  if (!preloaded.empty()) ::setenv("LD_PRELOAD", preloaded.c_str(), 1);
  ::dup2(output, STDOUT_FILENO);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(input < 0 ? nowhere : input, STDIN_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& entry : command) arguments.push_back(const_cast<char*>(entry.c_str()));
  arguments.push_back(nullptr);
  ::execv(command.front().c_str(), arguments.data());
  ::_exit(127);
}

// Returns what `tarn measure` prints in a process of its own. `words` begin with a program's path. `input` is a file,
// or -1.
std::string output_of(const std::vector<std::string>& command, const std::string& preloaded, int input) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    fail(exit_code::io_error, "cannot measure the cost model: {}", system_error_text(errno));
  const pid_t child = ::fork();
  if (child < 0) fail(exit_code::io_error, "cannot measure the cost model: {}", system_error_text(errno));
  if (child == 0) become(command, preloaded, input, ends[1]);
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t bytes_read = 0; (bytes_read = ::read(ends[0], part.data(), part.size())) != 0;) {
    if (bytes_read > 0) text.append(part.data(), static_cast<std::size_t>(bytes_read));
    if (bytes_read < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0)
    fail(exit_code::io_error, "cannot measure the cost model: tarn measure {} ended with status {}", command.back(),
         status);
  return text;
}

cost_model measured_by(const std::vector<std::string>& command, const std::string& preloaded = {}) {
  try {
    return analyse::cost_model_from(json::parse(output_of(command, preloaded, -1)));
  } catch (const json::exception& error) {
    fail(exit_code::io_error, "cannot measure the cost model: {}", error.what());
  }
}

void take(cost_model& target, const cost_model& source) {
  for (std::size_t server = 0; server < analyse::allocator_count; ++server) {
    for (std::size_t pattern = 0; pattern < analyse::pattern_count; ++pattern) {
      if (source.pairs[server][pattern][0] >= 0) target.pairs[server][pattern] = source.pairs[server][pattern];
    }
  }
}

class temporary_file {
 public:
  temporary_file() : path_(fs::temp_directory_path() / "tarn-XXXXXX") {
    const int file = ::mkstemp(path_.data());
    if (file < 0) fail(exit_code::io_error, "{}: {}", path_, system_error_text(errno));
    ::close(file);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

cost_model measured(const analyse::cost_facts& today) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  cost_model model = measured_by({self, "measure", "parts"});
  model.facts = today;
  take(model, measured_by({self, "measure", "preloaded"}, find_library("libtarn-malloc.so", {})));
  const temporary_file recording;
  // If this tarn cannot record, a recorder costs nothing: the recordings are from elsewhere.
  const auto recorded = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = {self, "record", "--heap", "-o", recording.path()};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", self, "measure", "recorded"});
    try {
      return measured_by(command);
    } catch (const failure&) {
      return cost_model();
    }
  };
  // The measurement includes the pair itself, of 64 bytes; this takes it off.
  const double plain =
      model.pair_ns(analyse::allocator_kind::alone, analyse::lifetime_pattern::soon, format::size_bucket(64));
  const cost_model whole = recorded({"--full"}), sampled = recorded({});
  model.recorder_ns = std::max(whole.recorder_ns - plain, 0.0);
  model.recorder_frame = whole.recorder_frame;
  model.sampler_ns = std::max(sampled.sampler_ns - plain, 0.0);
  model.calls = measured_by({self, "measure", "calls"}).calls;
  try {
    output_of({self, "record", "--syscalls", "-o", recording.path(), "--", self, "measure", "calls"}, {}, -1);
    model.calls.slowdown = stretch_of(read_recording(recording.path()), model.calls);
  } catch (const failure&) {  // system calls cannot be recorded here
  }
  return model;
}

void store(const cost_model& model, const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path next = file.string() + '.' + std::to_string(::getpid());
  {
    std::ofstream output(next);
    output << analyse::to_json(model).dump(1) << '\n';
    if (!output.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(next, file, error);
  if (error) fs::remove(next, error);
}

}  // namespace

cost_model machine_costs(bool remeasure) {
  const analyse::cost_facts today = facts_of_today();
  const fs::path file = cost_file();
  if (!remeasure && !file.empty()) {
    try {
      std::ifstream input(file);
      if (input) {
        cost_model stored = analyse::cost_model_from(json::parse(input));
        if (stored.facts.is_comparable(today)) return stored;
      }
    } catch (const json::exception&) {  // of another version, or damaged: it is measured again
    }
  }
  cost_model model = measured(today);
  if (!file.empty()) store(model, file);
  return model;
}

std::vector<analyse::replayed> replays_of(const std::vector<analyse::replay_job>& jobs) {
  const std::string bytes = analyse::encode(jobs);
  const int file = ::memfd_create("tarn-replay", MFD_CLOEXEC);
  if (file < 0) fail(exit_code::no_memory, "no memory to replay trace excerpts: {}", system_error_text(errno));
  std::string text;
  try {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
      if (written < 0) fail(exit_code::no_memory, "no memory to replay trace excerpts: {}", system_error_text(errno));
      done += static_cast<std::size_t>(written);
    }
    ::lseek(file, 0, SEEK_SET);
    text = output_of({fs::read_symlink("/proc/self/exe").string(), "measure", "replay"}, {}, file);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  try {
    return analyse::replayed_from(text);
  } catch (const json::exception& error) {
    fail(exit_code::io_error, "cannot replay trace excerpts: {}", error.what());
  }
}

}  // namespace tarn::command
