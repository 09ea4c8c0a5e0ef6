// Estimates shares of the CPU time from samples. The kernel begins a new interval with each thread, so a thread has a
// sample less than its time is worth, or a part of one. Its records of switches tell how long each thread ran: samples
// of threads that ran for about as long share the time of all such threads. Threads that do the same are sampled at the
// same places, so each of them may have a sample too many or too few of a function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

struct share_estimate {
  double share = 0;
  double error = 1;  // absolute; 95 of 100 recordings do not exceed it
};

class sampled_shares {
 public:
  // Threads of less than one interval, of one, of two and three, and so on. The last class has all of 16 or more: there
  // the part of an interval that is missing is small beside the error of sampling.
  static constexpr std::size_t classes = 6;
  using samples = std::array<std::uint64_t, classes>;

  sampled_shares() = default;
  explicit sampled_shares(const format::recording& recording);

  std::size_t class_of(std::uint32_t thread) const;
  share_estimate share_of(const samples& part) const;
  // Return the CPU time of a share of the whole, and that which samples of a thread stand for.
  std::uint64_t ns_of(double share) const;
  std::uint64_t ns_of(std::uint32_t thread, std::uint64_t count) const;
  // Returns the share of threads that ran for less than one interval, and how many samples they have.
  double share_of_brief() const { return shares_.front(); }
  std::uint64_t samples_of_brief() const { return whole_.front(); }

 private:
  std::map<std::uint32_t, std::size_t> classes_;  // by thread; the others are in the last one
  samples whole_{}, threads_{};
  std::array<double, classes> shares_{};  // of the CPU time
  double whole_ns_ = 0;                   // the CPU time
};

// Returns the error of a share that `part` of `whole` samples shows.
double share_error(std::uint64_t part, std::uint64_t whole);
// Returns the same for a few samples, which seldom show a small share: how far Wilson's interval with a
// correction of continuity reaches (Newcombe, 1998).
double share_error_of_few(std::uint64_t part, std::uint64_t whole);

}  // namespace tarn::analyse
