// What was measured, and what is computed of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/experiment.hpp"

namespace tarn::lab {

// Median and quartiles. Of no values: all 0.
struct spread {
  double median = 0, low = 0, high = 0;
};
spread spread_of(std::vector<double> values);

// One form at one x of one sweep, all its rounds.
struct row {
  std::size_t sweep = 0;
  std::uint64_t x = 0;
  std::string form;
  std::vector<double> ns, processor_ns;  // a unit
  std::map<std::string, std::vector<double>> counts;
};

struct result {
  const experiment* of = nullptr;
  numbers parameters;
  std::uint64_t rounds = 0;
  double seconds = 0;
  std::vector<form> forms;                       // those that were there
  std::vector<std::vector<std::uint64_t>> axes;  // the x values of each sweep
  std::vector<row> rows;
  std::vector<std::string> skipped;  // one line each: who, or what, is missing, and why
  std::string failure;               // one line; then there is no verdict
  verdict told;

  const row* find(std::size_t sweep, const std::string& form, std::uint64_t x) const;
  // Median ns of a unit; "best other" stands for the fastest peer there. Nothing where it was not measured.
  std::optional<double> ns(std::size_t sweep, const std::string& form, std::uint64_t x) const;
  std::optional<double> count(std::size_t sweep, const std::string& form, std::uint64_t x,
                              const std::string& name) const;
  // Time of `over` by that of `under` at one x: the median of the rounds' ratios, as both of a round met the same
  // machine.
  std::optional<double> ratio(std::size_t sweep, const std::string& over, const std::string& under,
                              std::uint64_t x) const;
  // At each x of the sweep where there is one.
  std::vector<double> ratios(std::size_t sweep, const std::string& over, const std::string& under) const;
  // Of the curve y = a x^e that fits the medians best, by least squares of the logarithms; nothing below three x above
  // 0.
  std::optional<double> exponent(std::size_t sweep, const std::string& form) const;
  bool has(const std::string& form) const;
  // " It is slower than the fastest other at 1 and 100: 1.8 and 2.3 times the time." Empty where it is at most a tenth
  // slower.
  std::string where_slower(std::size_t sweep, const std::string& form) const;
};

// Of those above 0; 0 where there is none.
double geometric_mean(const std::vector<double>& of);

// "3.8", "12", "0.42": two digits that tell.
std::string two_digits(double number);
// "3.8 to 4.6 times", or "4 times" where both are the same.
std::string times_words(const std::vector<double>& ratios);

}  // namespace tarn::lab
