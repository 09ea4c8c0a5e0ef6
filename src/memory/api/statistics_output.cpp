// Opens the output of the reports of statistics_text.hpp, and writes them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error_text.hpp"
#include "memory/api/statistics_text.hpp"

namespace tarn::api {
namespace {

// Holds the descriptor that is kept for the report, and its file when it was opened: a program that closes all
// descriptors and opens others in their place must not find our report in its files.
struct kept_descriptor {
  int number = -1;
  dev_t device = 0;
  ino_t inode = 0;

  bool is_open() const noexcept {
    struct stat now;
    return number >= 0 && ::fstat(number, &now) == 0 && now.st_dev == device && now.st_ino == inode;
  }
};
constinit kept_descriptor output;

// Lies above the numbers that programs with fixed descriptors, or with select(), use for themselves.
constexpr int min_descriptor = 1000;

void keep(int descriptor) noexcept {
  struct stat now;
  if (descriptor < 0 || ::fstat(descriptor, &now) != 0) return;
  output = {.number = descriptor, .device = now.st_dev, .inode = now.st_ino};
}

int moved_up(int descriptor) noexcept {
  const int higher = ::fcntl(descriptor, F_DUPFD_CLOEXEC, min_descriptor);
  if (higher < 0) return descriptor;
  ::close(descriptor);
  return higher;
}

void report_unusable(const char* file, int error) noexcept {
  base::text_buffer<512> line;
  line.append("tarn: cannot open stats_file ").append_escaped(file, 256);
  line.append(": ").append(base::error_text(error)).append("; standard error is used\n");
  line.write_to(STDERR_FILENO);
}

// Holds the process whose thread is using the report's memory; 0 for none. A child that was forked during a report
// finds the parent's number here, and takes over.
constinit std::atomic<pid_t> writer{0};
constinit char report_storage[report_bytes] = {};
constexpr std::size_t max_thread_name_bytes = 16;  // the kernel's limit, with the newline of its file
constinit char thread_names[max_heap_rows][max_thread_name_bytes] = {};
constinit heap_row named_rows[max_heap_rows] = {};

// Returns the kernel's name of a thread of this process; an empty name if the thread is gone, or without /proc.
std::string_view thread_name(std::uint64_t thread, char (&storage)[max_thread_name_bytes]) noexcept {
  base::text_buffer<64> path;
  path.append("/proc/self/task/").decimal(thread).append("/comm").append('\0');
  const int file = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = ::read(file, storage, sizeof storage);
  ::close(file);
  if (size <= 0) return {};
  return {storage, static_cast<std::size_t>(size) - (storage[size - 1] == '\n' ? 1 : 0)};
}

// Returns the first rows; a thread's heap without a name gets the thread's name.
std::span<const heap_row> with_names(std::span<const heap_row> heaps) noexcept {
  const std::size_t count = heaps.size() < max_heap_rows ? heaps.size() : max_heap_rows;
  for (std::size_t index = 0; index < count; ++index) {
    named_rows[index] = heaps[index];
    if (heaps[index].name.empty() && heaps[index].thread != 0) {
      named_rows[index].name = thread_name(heaps[index].thread, thread_names[index]);
    }
  }
  return {named_rows, count};
}

}  // namespace

void open_statistics_output(const base::options& options) noexcept {
  if (options.stats == base::stats_mode::off) return;
  const int saved_errno = errno;
  if (options.stats_file[0] != '\0') {
    const int file = ::open(options.stats_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    if (file >= 0) {
      keep(moved_up(file));
    } else {
      report_unusable(options.stats_file, errno);
    }
  }
  if (output.number < 0) keep(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, min_descriptor));
  errno = saved_errno;
}

bool print_statistics(const base::options& options, const process_statistics& process, std::span<const heap_row> heaps,
                      const advice& next) noexcept {
  const pid_t self = ::getpid();
  pid_t holder = 0;
  if (!writer.compare_exchange_strong(holder, self, std::memory_order_acquire)) {
    if (holder == self || !writer.compare_exchange_strong(holder, self, std::memory_order_acquire)) return false;
  }
  const int saved_errno = errno;
  base::text report(report_storage, sizeof report_storage);
  const report_subject subject{.program = ::program_invocation_short_name, .process = static_cast<std::uint64_t>(self)};
  const auto form = options.stats == base::stats_mode::json          ? append_json
                    : options.stats == base::stats_mode::openmetrics ? append_openmetrics
                                                                     : append_table;
  form(report, subject, process, with_names(heaps), next);
  report.write_to(output.is_open() ? output.number : STDERR_FILENO);
  errno = saved_errno;
  writer.store(0, std::memory_order_release);
  return true;
}

}  // namespace tarn::api
