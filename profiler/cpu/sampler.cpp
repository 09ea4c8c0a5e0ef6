#include "profiler/cpu/sampler.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "profiler/format/clock.hpp"

namespace tarn::cpu {
namespace {

constexpr std::chrono::milliseconds shortest_pause{2}, stops_pause{25}, longest_pause{100}, memory_pause{5};
constexpr double high_fill = 0.25, low_fill = 0.05, almost_full = 0.9;

}  // namespace

sampler::sampler(pid_t process) : events_(process) {
  samples_.keep_only(process);
  samples_.add_running(process);
}

void sampler::take_until(std::uint64_t bound_ns) {
  const ring_fill fill = events_.take(pending_);
  if (fill.clock > high_fill) {
    pause_ = std::max(pause_ / 4, shortest_pause);
  } else if (fill.stops > high_fill) {
    pause_ = std::min(pause_, stops_pause);
  } else if (fill.clock < low_fill) {
    pause_ = std::min(pause_ * 2, longest_pause);
  }
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const perf_record& a, const perf_record& b) { return a.at_ns < b.at_ns; });
  mark_still(pending_);
  if (fill.clock > almost_full) {  // more records may be missing than is known yet
    for (perf_record& record : pending_) record.is_still = false;
  }
  const auto is_running = [this](pid_t thread) { return goes_on(thread); };
  auto record = pending_.begin();
  for (; record != pending_.end() && record->at_ns <= bound_ns; ++record) samples_.add(*record, is_running);
  pending_.erase(pending_.begin(), record);
  pending_.insert(pending_.end(), std::make_move_iterator(later_.begin()), std::make_move_iterator(later_.end()));
  later_.clear();
  next_ = steady::now() + (samples_.reads_memory() ? std::min(pause_, memory_pause) : pause_);
}

// The kernel writes the record of a switch before the thread executes an instruction.
bool sampler::goes_on(pid_t thread) { return events_.take(later_).clock > almost_full || may_go_on(later_, thread); }

// Takes at most one percent of a processor.
void sampler::read_delays() {
  constexpr int inverse_share = 100;
  const std::clock_t begun = std::clock();
  samples_.read_delays();
  const std::chrono::duration<double> spent(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
  next_delays_ = steady::now() + std::chrono::duration_cast<steady::duration>(inverse_share * spent);
}

void sampler::take() {
  {
    const std::lock_guard lock(mutex_);
    take_now();
    if (!is_over_ && steady::now() >= next_delays_) read_delays();
    if (is_over_ || watch_ != nullptr || !samples_.reads_memory()) return;
  }
  watch_ = std::make_unique<processor_watch>(events_.processors(), [this] {
    const std::lock_guard lock(mutex_);
    take_now();
  });
}

void sampler::take_now() {
  // Later records are kept for the next call, because an earlier one of another processor may still come.
  if (is_over_) return;
  const std::uint64_t now_ns = format::monotonic_nanoseconds();
  take_until(now_ns);
  samples_.set_time(now_ns);
}

void sampler::stop() {
  watch_ = nullptr;
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  is_over_ = true;
  samples_.set_time(format::monotonic_nanoseconds());
  events_.stop();
  take_until(std::numeric_limits<std::uint64_t>::max());
  read_delays();
  events_.close();
  next_ = steady::time_point::max();
}

void sampler::read(pid_t process, std::uint64_t begun_ns, std::uint32_t first_image,
                   format::cpu_recording& target) const {
  const std::lock_guard lock(mutex_);
  target.interval_ns = sample_interval_ns;
  target.is_kernel_hidden = is_kernel_hidden();
  samples_.read(process, begun_ns, first_image, target);
}

}  // namespace tarn::cpu
