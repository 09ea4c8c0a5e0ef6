// The measurements, and the figures that are computed from them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/lab/experiment.hpp"

namespace tarn::lab {

// Median and quartiles; all 0 without values.
struct spread {
  double median = 0, low = 0, high = 0;
};
spread spread_of(std::vector<double> values);

// One form at one x of one sweep, with all its rounds.
struct row {
  std::size_t sweep = 0;
  std::uint64_t x = 0;
  std::string form;
  std::vector<double> ns, processor_ns;  // per unit
  std::map<std::string, std::vector<double>> counts;
};

struct result {
  const experiment* definition = nullptr;
  numbers parameters;
  std::uint64_t rounds = 0;
  double seconds = 0;
  std::vector<form> forms;                       // the forms that were present
  std::vector<std::vector<std::uint64_t>> axes;  // the x values of each sweep
  std::vector<row> rows;
  std::vector<std::string> skipped;  // one line each: a missing form or sweep, and the reason
  std::string failure;               // one line; there is no verdict then
  verdict judgement;

  const row* find(std::size_t sweep, const std::string& form, std::uint64_t x) const;
  // Returns the median ns per unit; "best other" stands for the fastest peer present. Returns nothing if not
  // measured.
  std::optional<double> ns(std::size_t sweep, const std::string& form, std::uint64_t x) const;
  std::optional<double> count(std::size_t sweep, const std::string& form, std::uint64_t x,
                              const std::string& name) const;
  // Returns the time of `dividend` divided by that of `divisor` at one x: the median of the rounds' ratios, because
  // both sides of a round met the same machine.
  std::optional<double> ratio(std::size_t sweep, const std::string& dividend, const std::string& divisor,
                              std::uint64_t x) const;
  // Returns the ratio at each x of the sweep that has one.
  std::vector<double> ratios(std::size_t sweep, const std::string& dividend, const std::string& divisor) const;
  // Returns the exponent of the curve y = a x^e that fits the medians best, by least squares of the logarithms.
  // Returns nothing with fewer than three x above 0.
  std::optional<double> exponent(std::size_t sweep, const std::string& form) const;
  bool has(const std::string& form) const;
  // Returns " It is slower than the fastest other at 1 and 100: 1.8 and 2.3 times the time.", or nothing where it is
  // at most a tenth slower.
  std::string slowdown_text(std::size_t sweep, const std::string& form) const;
};

// Uses the values above 0; returns 0 without any.
double geometric_mean(const std::vector<double>& ratios);

// Formats with two significant digits: "3.8", "12", "0.42".
std::string two_digits(double number);
// Formats "3.8 to 4.6 times", or "4 times" where both are equal.
std::string times_text(const std::vector<double>& ratios);

}  // namespace tarn::lab
