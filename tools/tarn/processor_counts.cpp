#include "tarn/processor_counts.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tarn::command {
namespace {

int open_count(std::uint64_t what) {
  perf_event_attr how{};
  how.size = sizeof how;
  how.type = PERF_TYPE_HARDWARE;
  how.config = what;
  how.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  how.disabled = 1;
  how.inherit = 1;
  how.enable_on_exec = 1;
  how.exclude_kernel = 1;
  how.exclude_hv = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &how, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

processor_counts::processor_counts()
    : files_{open_count(PERF_COUNT_HW_INSTRUCTIONS), open_count(PERF_COUNT_HW_BRANCH_MISSES)} {}

processor_counts::~processor_counts() {
  for (const int each : files_) {
    if (each >= 0) ::close(each);
  }
}

std::uint64_t processor_counts::count(std::size_t which) const {
  struct {
    std::uint64_t value, enabled, running;  // ns; it counts less than it is enabled where others count, too
  } now{};
  if (files_[which] < 0 || ::read(files_[which], &now, sizeof now) != static_cast<ssize_t>(sizeof now)) return 0;
  if (now.running == 0 || now.running == now.enabled) return now.value;
  return static_cast<std::uint64_t>(static_cast<double>(now.value) * static_cast<double>(now.enabled) /
                                    static_cast<double>(now.running));
}

}  // namespace tarn::command
