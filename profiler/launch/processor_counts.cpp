#include "profiler/launch/processor_counts.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace tarn::command {
namespace {

constexpr std::chrono::milliseconds first_turn{100}, turn_length{5}, pause{195};

int open_count(std::uint64_t event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = event;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.disabled = 1;
  attributes.inherit = 1;
  attributes.enable_on_exec = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

processor_counts::processor_counts(bool is_enabled) {
  if (is_enabled) {
    files_ = {open_count(PERF_COUNT_HW_INSTRUCTIONS), open_count(PERF_COUNT_HW_BRANCH_MISSES)};
  } else {
    files_ = {-1, -1};
  }
  next_ = files_[0] < 0 ? steady::time_point::max() : steady::now() + first_turn;
}

processor_counts::~processor_counts() {
  for (const int counter : files_) {
    if (counter >= 0) ::close(counter);
  }
}

void processor_counts::turn() {
  is_on_ = !is_on_;
  for (const int counter : files_) {
    if (counter >= 0) ::ioctl(counter, is_on_ ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }
  next_ = steady::now() + (is_on_ ? turn_length : pause);
}

std::uint64_t processor_counts::count(std::size_t index, std::uint64_t processor_ns) const {
  struct {
    std::uint64_t value, enabled, running;  // ns of all threads; it runs less than it is enabled if others count, too
  } now{};
  if (files_[index] < 0 || ::read(files_[index], &now, sizeof now) != static_cast<ssize_t>(sizeof now)) return 0;
  if (now.running == 0) return 0;
  const double share = static_cast<double>(processor_ns) / static_cast<double>(now.running);
  return static_cast<std::uint64_t>(static_cast<double>(now.value) * std::max(share, 1.0));
}

}  // namespace tarn::command
