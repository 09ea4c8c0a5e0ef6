#include "profiler/fix/gain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace tarn::fix {
namespace {

// A series may have tens of patches, each of which may be tested twice (trial::judge): of 50 without an effect, nine in
// ten series keep none. Five pairs alone never reach it.
constexpr double max_gain_probability = 0.001, likely_gain_probability = 0.05, max_loss_probability = 0.01;
constexpr double large_ratio = 1.5;  // from here on a loss is told as a multiple

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Returns the CPU time of the patched program as a share saved, or as a loss. The ratios are patched to plain.
std::string figures_of(double median, double lowest, double highest, bool is_loss) {
  if (!is_loss)
    return fmt::format("median {:.1f} % of CPU time saved (pairs: {:.1f} to {:.1f} %)", (1 - median) * 100,
                       (1 - highest) * 100, (1 - lowest) * 100);
  if (median < large_ratio)
    return fmt::format("median {:.1f} % more CPU time (pairs: {:.1f} to {:.1f} %)", (median - 1) * 100,
                       (lowest - 1) * 100, (highest - 1) * 100);
  return fmt::format("median {:.1f} times the CPU time (pairs: {:.1f} to {:.1f})", median, lowest, highest);
}

}  // namespace

double rank_test(const std::vector<double>& plain, const std::vector<double>& patched) {
  // The statistic counts the pairs in which the patched run was not faster.
  double statistic = 0;
  for (const double before : plain) {
    for (const double after : patched) statistic += after > before ? 1 : after == before ? 0.5 : 0;
  }
  // ways[n][u]: the orders of n patched and m plain values with u such pairs; m grows by one each round.
  const std::size_t pairs = plain.size() * patched.size();
  std::vector<std::vector<double>> ways(patched.size() + 1, std::vector<double>(pairs + 1));
  for (std::vector<double>& row : ways) row[0] = 1;
  for (std::size_t plain_count = 1; plain_count <= plain.size(); ++plain_count) {
    // The largest value is a plain one (as many pairs as without it), or a patched one (a pair with each plain one).
    for (std::size_t patched_count = 1; patched_count <= patched.size(); ++patched_count) {
      for (std::size_t count = pairs; count >= plain_count; --count)
        ways[patched_count][count] += ways[patched_count - 1][count - plain_count];
    }
  }
  double total = 0, small_statistics = 0;
  for (std::size_t count = 0; count <= pairs; ++count) {
    total += ways.back()[count];
    if (static_cast<double>(count) <= statistic) small_statistics += ways.back()[count];
  }
  return small_statistics / total;
}

const char* name(effect outcome) {
  switch (outcome) {
    case effect::gain: return "measured";
    case effect::loss: return "loss";
    case effect::unclear: return "too noisy";
    default: return "not shown";
  }
}

gain gain_of(const std::vector<double>& plain, const std::vector<double>& patched, double predicted_share) {
  std::vector<double> ratios;
  for (std::size_t run = 0; run < plain.size(); ++run) ratios.push_back(patched[run] / plain[run]);
  const auto [lowest, highest] = std::minmax_element(ratios.begin(), ratios.end());
  const double median = median_of(ratios);
  const double gain_probability = rank_test(plain, patched), loss_probability = rank_test(patched, plain);
  gain result;
  result.saved_share = 1 - median;
  if (median < 1 && gain_probability < max_gain_probability) {
    result.outcome = effect::gain;
  } else if (median > 1 && loss_probability < max_loss_probability) {
    result.outcome = effect::loss;
  } else if (*highest < 1 || (median < 1 && gain_probability < likely_gain_probability)) {
    result.outcome = effect::likely_gain;
  } else if (*lowest <= 1 && *highest - *lowest > predicted_share) {
    result.outcome = effect::unclear;
  }
  const bool is_loss = result.outcome == effect::loss;
  const double probability = is_loss ? loss_probability : gain_probability;
  result.text = fmt::format("{}, {} interleaved pairs, rank test p {}", figures_of(median, *lowest, *highest, is_loss),
                            plain.size(), probability < 0.001 ? "< 0.001" : fmt::format("= {:.3f}", probability));
  return result;
}

}  // namespace tarn::fix
