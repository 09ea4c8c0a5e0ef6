#include "tarn/lab_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tarn/lab_text.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

// Holds one form in one sweep: the ratios at its x values, and whether the quartiles of most of them do not overlap.
struct pair_of_runs {
  std::vector<double> ratios;
  std::size_t apart = 0;
};

std::string machine_words(const lab::kept_run& before, const lab::kept_run& after) {
  std::string words;
  for (const auto& [name, value] : after.machine) {
    for (const auto& [other_name, other] : before.machine) {
      if (name == other_name && value != other)
        words += wrapped(fmt::format("{}: {} → {}", name, other, value), "  ", page_width);
    }
  }
  return words;
}

// Prints the line in bold if the form is slower, beyond the noise.
std::string line_of(const std::string& form, const pair_of_runs& of, const paint& colours) {
  const double mean = lab::geometric_mean(of.ratios);
  const auto [least, most] = std::minmax_element(of.ratios.begin(), of.ratios.end());
  const bool is_clear = 2 * of.apart > of.ratios.size();
  const std::string words = !is_clear || (mean > 0.95 && mean < 1.05) ? "as before" : mean > 1 ? "slower" : "faster";
  const std::string line = fmt::format("  {:<26}{:>8}{:>9} to {:<8}{}", cut(form, 25), lab::two_digits(mean),
                                       lab::two_digits(*least), lab::two_digits(*most), words);
  return (words == "slower" ? colours.bad(line) : words == "faster" ? colours.good(line) : line) + "\n";
}

}  // namespace

std::string compare_text(const lab::kept_run& before, const lab::kept_run& after) {
  const paint colours;
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, lab::spread> known;
  for (const lab::kept_figure& each : before.figures)
    known[{each.experiment, each.sweep, each.x, each.form, each.measure}] = each.of;
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, pair_of_runs>>>> sweeps;
  std::size_t only_one = known.size();
  for (const lab::kept_figure& each : after.figures) {
    const auto found = known.find({each.experiment, each.sweep, each.x, each.form, each.measure});
    if (found == known.end()) {
      ++only_one;
      continue;
    }
    --only_one;
    if (each.measure != "ns" || found->second.median <= 0 || each.of.median <= 0) continue;
    const std::string title = each.experiment + " by " + each.sweep;
    if (sweeps.empty() || sweeps.back().first != title) {
      const auto same = std::find_if(sweeps.begin(), sweeps.end(), [&](const auto& one) { return one.first == title; });
      if (same == sweeps.end()) {
        sweeps.push_back({title, {}});
      } else {
        std::rotate(same, same + 1, sweeps.end());
      }
    }
    auto& forms = sweeps.back().second;
    auto form = std::find_if(forms.begin(), forms.end(), [&](const auto& one) { return one.first == each.form; });
    if (form == forms.end()) form = forms.insert(forms.end(), {each.form, {}});
    form->second.ratios.push_back(each.of.median / found->second.median);
    if (each.of.low > found->second.high || each.of.high < found->second.low) ++form->second.apart;
  }
  std::string text = machine_words(before, after);
  for (const auto& [name, holds] : after.verdicts) {
    const auto found = before.verdicts.find(name);
    if (found != before.verdicts.end() && found->second != holds)
      text += fmt::format("  verdict of {}: {} → {}\n", name, found->second, holds);
  }
  for (const auto& [title, forms] : sweeps) {
    text += fmt::format("\n{}: time over that before, mean and range of its values\n", colours.bold(title));
    for (const auto& [form, of] : forms) text += line_of(form, of, colours);
  }
  if (only_one > 0) text += fmt::format("\n  {} figures are in one of the two only\n", only_one);
  return text;
}

}  // namespace tarn::command
