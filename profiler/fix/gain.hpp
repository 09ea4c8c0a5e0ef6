// Judges from the CPU times of interleaved runs whether a patch saves more than noise.
#pragma once

#include <string>
#include <vector>

namespace tarn::fix {

// Returns the probability that, by chance alone, the values of `patched` are at least as small among all values as they
// are: the Mann-Whitney rank test, exact, one-sided. Equal values count half.
double rank_test(const std::vector<double>& plain, const std::vector<double>& patched);

// The effect of a patch on the CPU time.
enum class effect {
  gain,         // shown by the rank test
  loss,         // shown likewise
  likely_gain,  // the rank test nearly shows it, or each pair of runs does: more runs may show it
  no_gain,      // a gain as large as predicted would have shown, or each pair of runs shows a loss
  unclear,      // the pairs show gains and losses, and differ by more than the predicted gain
};

// Returns "measured", "loss", "not shown" or "too noisy".
const char* name(effect outcome);

struct gain {
  effect outcome = effect::no_gain;
  double saved_share = 0;  // 1 minus the median of the ratios of patched to plain, run by run
  std::string text;        // the figures and the test, in one line
};
// `predicted_share` is the share of CPU time that should be saved.
gain gain_of(const std::vector<double>& plain, const std::vector<double>& patched, double predicted_share);

}  // namespace tarn::fix
