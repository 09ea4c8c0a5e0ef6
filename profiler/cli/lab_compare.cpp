#include "profiler/cli/lab_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "profiler/cli/lab_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

// Holds one form in one sweep: the ratios at its x values, and whether the quartiles of most of them do not overlap.
struct pair_of_runs {
  std::vector<double> ratios;
  std::size_t disjoint = 0;
};

std::string machine_text(const lab::kept_run& before, const lab::kept_run& after) {
  std::string text;
  for (const auto& [name, value] : after.machine) {
    for (const auto& [other_name, other_value] : before.machine) {
      if (name == other_name && value != other_value)
        text += wrap_text(fmt::format("{}: {} → {}", name, other_value, value), "  ", text_width);
    }
  }
  return text;
}

enum class speed_change { unclear, slower, faster };

// A form changed if most of its values differ beyond the noise, and by 5 % in the mean.
speed_change change_of(const pair_of_runs& runs) {
  const double mean = lab::geometric_mean(runs.ratios);
  const bool is_clear = 2 * runs.disjoint > runs.ratios.size();
  if (!is_clear || (mean > 0.95 && mean < 1.05)) return speed_change::unclear;
  return mean > 1 ? speed_change::slower : speed_change::faster;
}

// Prints the line in bold if the form is slower, beyond the noise.
std::string line_of(const std::string& form, const pair_of_runs& runs, const paint& style) {
  const double mean = lab::geometric_mean(runs.ratios);
  const auto [lowest, highest] = std::minmax_element(runs.ratios.begin(), runs.ratios.end());
  const speed_change speed = change_of(runs);
  const char* const change_name = speed == speed_change::slower   ? "slower"
                                  : speed == speed_change::faster ? "faster"
                                                                  : "no change";
  const std::string line = fmt::format("  {:<26}{:>8}{:>9} to {:<8}{}", cut(form, 25), lab::two_digits(mean),
                                       lab::two_digits(*lowest), lab::two_digits(*highest), change_name);
  return (speed == speed_change::slower   ? style.bad(line)
          : speed == speed_change::faster ? style.good(line)
                                          : line) +
         "\n";
}

}  // namespace

std::string compare_text(const lab::kept_run& before, const lab::kept_run& after) {
  const paint style;
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, lab::spread> earlier;
  for (const lab::kept_figure& figure : before.figures)
    earlier[{figure.experiment, figure.sweep, figure.x, figure.form, figure.measure}] = figure.values;
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, pair_of_runs>>>> sweeps;
  std::size_t unmatched = earlier.size();
  for (const lab::kept_figure& figure : after.figures) {
    const auto earlier_figure = earlier.find({figure.experiment, figure.sweep, figure.x, figure.form, figure.measure});
    if (earlier_figure == earlier.end()) {
      ++unmatched;
      continue;
    }
    --unmatched;
    if (figure.measure != "ns" || earlier_figure->second.median <= 0 || figure.values.median <= 0) continue;
    const std::string title = figure.experiment + " by " + figure.sweep;
    if (sweeps.empty() || sweeps.back().first != title) {
      const auto position = std::find_if(sweeps.begin(), sweeps.end(),
                                         [&](const auto& sweep_entry) { return sweep_entry.first == title; });
      if (position == sweeps.end()) {
        sweeps.push_back({title, {}});
      } else {
        std::rotate(position, position + 1, sweeps.end());
      }
    }
    auto& forms = sweeps.back().second;
    auto form = std::find_if(forms.begin(), forms.end(),
                             [&](const auto& sweep_entry) { return sweep_entry.first == figure.form; });
    if (form == forms.end()) form = forms.insert(forms.end(), {figure.form, {}});
    form->second.ratios.push_back(figure.values.median / earlier_figure->second.median);
    if (figure.values.low > earlier_figure->second.high || figure.values.high < earlier_figure->second.low)
      ++form->second.disjoint;
  }
  std::array<std::size_t, 3> counts{};
  for (const auto& [title, forms] : sweeps) {
    for (const auto& [form, runs] : forms) ++counts.at(static_cast<std::size_t>(change_of(runs)));
  }
  std::string text = fmt::format("{}: {} rows slower, {} faster, {} unchanged\n",
                                 style.bold(counts[1] != 0   ? "Slower"
                                            : counts[2] != 0 ? "Faster"
                                                             : "No change"),
                                 counts[1], counts[2], counts[0]);
  text += machine_text(before, after);
  for (const auto& [name, holds] : after.verdicts) {
    const auto earlier_figure = before.verdicts.find(name);
    if (earlier_figure != before.verdicts.end() && earlier_figure->second != holds)
      text += fmt::format("  verdict of {}: {} → {}\n", name, earlier_figure->second, holds);
  }
  for (const auto& [title, forms] : sweeps) {
    text += fmt::format("\n{}: time after divided by time before, mean and range\n", style.bold(title));
    for (const auto& [form, runs] : forms) text += line_of(form, runs, style);
  }
  if (unmatched > 0) text += fmt::format("\n  {} figures are in only one of the two runs\n", unmatched);
  return text;
}

}  // namespace tarn::command
