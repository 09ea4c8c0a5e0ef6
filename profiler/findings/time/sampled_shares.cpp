#include "profiler/findings/time/sampled_shares.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tarn::analyse {
namespace {

constexpr double deviations = 1.96;
constexpr std::size_t last = sampled_shares::classes - 1;

}  // namespace

double share_error(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  const auto count = static_cast<double>(whole);
  // One sample more or less is the least that is not recorded.
  const double share = static_cast<double>(part) / count;
  return std::max(deviations * std::sqrt(share * (1 - share) / count), 1 / count);
}

double share_error_of_few(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 1;
  constexpr double square = deviations * deviations;
  const auto count = static_cast<double>(whole);
  const double share = static_cast<double>(part) / count;
  // The upper end for a share; the lower one is that of the other samples.
  const auto reach = [&](double ratio) {
    const double root = square - 1 / count + 4 * count * ratio * (1 - ratio) + (2 - 4 * ratio);
    const double end =
        (2 * count * ratio + square + deviations * std::sqrt(std::max(root, 0.0)) + 1) / (2 * (count + square));
    return std::min(end, 1.0) - ratio;
  };
  return std::max(reach(share), reach(1 - share));
}

sampled_shares::sampled_shares(const format::recording& recording) {
  const format::cpu_recording& cpu = recording.cpu;
  std::map<std::uint32_t, std::uint64_t> running_ns;
  for (const auto& [key, counts] : cpu.cells) running_ns[key.thread] += counts[format::running_ns];
  std::array<std::uint64_t, classes> sums_ns{};
  for (const auto& [thread, ns] : running_ns) {
    // What the kernel does not show has no samples, but running time.
    const bool is_told = ns != 0 && cpu.interval_ns != 0 && !cpu.is_kernel_hidden;
    const std::size_t number = is_told ? std::min<std::size_t>(std::bit_width(ns / cpu.interval_ns), last) : last;
    classes_[thread] = number;
    if (is_told) sums_ns[number] += ns;
    ++threads_[number];
  }
  for (const auto& [key, counts] : cpu.cells) whole_[class_of(key.thread)] += counts[format::cpu_samples];
  for (std::size_t index = 0; index < classes; ++index) {
    shares_[index] = static_cast<double>(sums_ns[index] != 0 ? sums_ns[index] : whole_[index] * cpu.interval_ns);
    whole_ns_ += shares_[index];
  }
  for (double& share : shares_) share = whole_ns_ == 0 ? 0 : share / whole_ns_;
}

std::uint64_t sampled_shares::ns_of(double share) const {
  constexpr double limit = 1e19;  // a damaged recording may have more than an integer holds
  return static_cast<std::uint64_t>(std::round(std::min(share * whole_ns_, limit)));
}

std::uint64_t sampled_shares::ns_of(std::uint32_t thread, std::uint64_t count) const {
  const std::size_t number = class_of(thread);
  if (whole_[number] == 0) return 0;
  return ns_of(shares_[number] * static_cast<double>(count) / static_cast<double>(whole_[number]));
}

std::size_t sampled_shares::class_of(std::uint32_t thread) const {
  const auto entry = classes_.find(thread);
  return entry == classes_.end() ? last : entry->second;
}

share_estimate sampled_shares::share_of(const samples& part) const {
  double share = 0, square = 0, unsampled = 0;
  for (std::size_t index = 0; index < classes; ++index) {
    if (whole_[index] == 0) {
      unsampled += shares_[index];
      continue;
    }
    share += shares_[index] * static_cast<double>(part[index]) / static_cast<double>(whole_[index]);
    // The samples of the briefest threads are taken anywhere, by counters that other threads have begun.
    const double same_places =
        index == 0 ? 0 : static_cast<double>(threads_[index]) / static_cast<double>(whole_[index]);
    const double by_chance =
        index == last ? share_error(part[index], whole_[index]) : share_error_of_few(part[index], whole_[index]);
    const double error = shares_[index] * std::min(std::max(by_chance, same_places), 1.0);
    square += error * error;
  }
  return {share, std::sqrt(square) + unsampled};
}

}  // namespace tarn::analyse
