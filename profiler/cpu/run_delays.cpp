#include "profiler/cpu/run_delays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace tarn::cpu {

std::optional<std::uint64_t> run_delay_of(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/schedstat", process, thread));
  std::uint64_t running_ns = 0, delay_ns = 0;
  if (file >> running_ns >> delay_ns) return delay_ns;
  return std::nullopt;
}

void thread_delay::begin(std::uint64_t runnable_ns, std::uint64_t waits) {
  earlier_ns_ = sum_ns(waits);
  delayed_ns_ = 0;
  has_begun_ = true;
  delay_before_ns_ = 0;
  runnable_before_ns_ = runnable_ns;
  waits_before_ = waits_ = waits;
}

void thread_delay::add(std::uint64_t delay_ns, std::uint64_t runnable_ns, std::uint64_t waits) {
  if (!has_begun_) {  // the thread was there before its records
    begin(runnable_ns, waits);
    delay_before_ns_ = delay_ns;
  }
  is_known_ = true;
  waits_ = waits;
  const std::uint64_t known_ns = delay_before_ns_ + runnable_ns - runnable_before_ns_;
  delayed_ns_ = delay_ns > known_ns ? static_cast<double>(delay_ns - known_ns) : 0;
}

double thread_delay::sum_ns(std::uint64_t waits) const {
  const auto read_waits = static_cast<double>(waits_ - waits_before_);
  const double later_waits = waits > waits_ ? static_cast<double>(waits - waits_) : 0;
  return earlier_ns_ + delayed_ns_ * (read_waits == 0 ? 1 : 1 + later_waits / read_waits);
}

double longest_delay(std::span<const wait_sum> groups, double sum_ns) {
  const auto mean_ns = [](const wait_sum& group) {
    return static_cast<double>(group.ns) / static_cast<double>(group.waits);
  };
  std::vector<wait_sum> shortest_first;
  for (const wait_sum& group : groups) {
    if (group.waits != 0) shortest_first.push_back(group);
  }
  std::sort(shortest_first.begin(), shortest_first.end(),
            [&](const wait_sum& a, const wait_sum& b) { return mean_ns(a) < mean_ns(b); });
  double waits_left = 0, longest_ns = 0;
  for (const wait_sum& group : shortest_first) waits_left += static_cast<double>(group.waits);
  for (const wait_sum& group : shortest_first) {
    longest_ns = std::min(mean_ns(group), sum_ns / waits_left);
    sum_ns -= longest_ns * static_cast<double>(group.waits);
    waits_left -= static_cast<double>(group.waits);
    if (longest_ns < mean_ns(group)) break;
  }
  return longest_ns;
}

}  // namespace tarn::cpu
