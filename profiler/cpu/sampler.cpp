#include "profiler/cpu/sampler.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "profiler/format/clock.hpp"

namespace tarn::cpu {
namespace {

constexpr std::chrono::milliseconds pause{100};

}  // namespace

sampler::sampler(pid_t process) : events_(process) {
  samples_.keep_only(process);
  samples_.add_running(process);
}

void sampler::take_until(std::uint64_t bound_ns) {
  const std::size_t sorted = pending_.size();
  events_.take(pending_);
  std::for_each(pending_.begin() + static_cast<std::ptrdiff_t>(sorted), pending_.end(),
                [](perf_record& record) { record.at_ns = time_of(record.bytes); });
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const perf_record& a, const perf_record& b) { return a.at_ns < b.at_ns; });
  auto record = pending_.begin();
  for (; record != pending_.end() && record->at_ns <= bound_ns; ++record) samples_.add(*record);
  pending_.erase(pending_.begin(), record);
  next_ = steady::now() + pause;
}

void sampler::take() {
  // Later records wait, as an earlier one of another processor may come after them.
  if (!is_over_) take_until(format::monotonic_nanoseconds());
}

void sampler::stop() {
  if (is_over_) return;
  is_over_ = true;
  events_.stop();
  take_until(std::numeric_limits<std::uint64_t>::max());
  events_.close();
  next_ = steady::time_point::max();
}

void sampler::read(pid_t process, std::uint64_t begun_ns, std::uint32_t first_image,
                   format::cpu_recording& target) const {
  target.interval_ns = sample_interval_ns;
  target.is_kernel_hidden = is_kernel_hidden();
  samples_.read(process, begun_ns, first_image, target);
}

}  // namespace tarn::cpu
