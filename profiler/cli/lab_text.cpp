#include "profiler/cli/lab_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/lab/json.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

constexpr std::size_t name_columns = 23, value_columns = 10, bar_columns = 16, max_values = 6;

// Draws `share` of the width in whole and eighths of a block.
std::string bar(double share, std::size_t columns) {
  constexpr std::array eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths_filled =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns) * 8));
  std::string text;
  for (std::size_t block = 0; block < eighths_filled / 8; ++block) text += "█";
  return text + eighths.at(eighths_filled % 8);
}

std::string pad(const std::string& text, std::size_t columns) {
  std::size_t width = 0;
  for (const char letter : text) width += (static_cast<unsigned char>(letter) & 0xc0U) != 0x80U ? 1 : 0;
  return text + std::string(width < columns ? columns - width : 0, ' ');
}

std::string number_text(double number) {
  return number >= 1e10   ? fmt::format("{:.3g}", number)
         : number >= 99.5 ? group_digits(static_cast<std::uint64_t>(std::llround(number)))
                          : lab::two_digits(number);
}

class experiment_text {
 public:
  explicit experiment_text(const lab::result& result) : result_(result) {}

  std::string str() {
    text_ = colours_.bold(result_.definition->name) + ": " +
            cut(result_.definition->source, text_width - result_.definition->name.size() - 2) + "\n";
    text_ += wrap_text(result_.definition->claim, "  ", text_width);
    if (!result_.failure.empty()) {
      text_ += wrap_text("Failed: " + result_.failure, "  ", text_width);
    } else {
      using lab::claim_outcome;
      const claim_outcome outcome = result_.judgement.outcome;
      const std::string word = outcome == claim_outcome::yes      ? "The claim holds. "
                               : outcome == claim_outcome::partly ? "The claim holds in part. "
                               : outcome == claim_outcome::no     ? "The claim does not hold. "
                                                                  : "";
      text_ += wrap_text(word + result_.judgement.text, "  ", text_width);
    }
    for (std::size_t sweep_index = 0; sweep_index < result_.axes.size(); ++sweep_index) table(sweep_index);
    for (const std::string& note : result_.skipped) text_ += wrap_text(note, "  ", text_width);
    return text_ + "\n";
  }

 private:
  void table(std::size_t sweep_index) {
    const lab::sweep& sweep = result_.definition->sweeps[sweep_index];
    text_ += "\n" + wrap_text(fmt::format("{} ({}, median of {})", sweep.title, sweep.y_label, result_.rounds), "  ",
                              text_width);
    base_ = base_of(sweep_index);
    const std::vector<std::uint64_t>& values = result_.axes[sweep_index];
    for (std::size_t begin = 0; begin < values.size(); begin += max_values) {
      const std::vector<std::uint64_t> part(
          values.begin() + static_cast<std::ptrdiff_t>(begin),
          values.begin() + static_cast<std::ptrdiff_t>(std::min(begin + max_values, values.size())));
      head(sweep, part, begin + max_values >= values.size());
      for (const lab::form& form : result_.forms) line(sweep_index, form, part, begin + max_values >= values.size());
      for (const lab::ratio& ratio : sweep.ratios) ratio_line(sweep_index, ratio, part);
      for (const lab::original_curve& curve : sweep.original_ratios) original_line(curve, part);
    }
    counts(sweep_index);
  }

  // Returns the first form that does this sweep.
  std::string base_of(std::size_t sweep_index) const {
    for (const lab::form& form : result_.forms) {
      const bool is_there = std::any_of(result_.rows.begin(), result_.rows.end(), [&](const lab::row& row) {
        return row.sweep == sweep_index && row.form == form.name;
      });
      if (is_there) return form.name;
    }
    return {};
  }

  void head(const lab::sweep& sweep, const std::vector<std::uint64_t>& xs, bool has_bars) {
    std::string line = "  " + pad(cut(sweep.x_label, name_columns), name_columns);
    for (const std::uint64_t x : xs)
      line += fmt::format("{:>{}}", sweep.x_names.empty() ? group_digits(x) : sweep.x_name(x), value_columns);
    if (has_bars)
      line += "   " + cut("time over " + base_ + "'s", text_width - 5 - name_columns - value_columns * xs.size());
    text_ += colours_.faint(line) + "\n";
  }

  void line(std::size_t sweep_index, const lab::form& form, const std::vector<std::uint64_t>& xs, bool has_bars) {
    std::string line = "  " + pad(cut(form.name, name_columns), name_columns);
    bool is_there = false;
    for (const std::uint64_t x : xs) {
      const lab::row* const row = result_.find(sweep_index, form.name, x);
      is_there = is_there || row != nullptr;
      line += cell(row);
    }
    if (!is_there) return;
    if (has_bars) line += bar_text(sweep_index, form.name, xs.size());
    text_ += (form.origin == lab::role::ours ? colours_.strong(line) : line) + "\n";
  }

  // Adds ~ where the quartiles are more than 15 % apart.
  static std::string cell(const lab::row* row) {
    if (row == nullptr || row->ns.empty()) return fmt::format("{:>{}}", "–", value_columns);
    const lab::spread spread = lab::spread_of(row->ns);
    const std::string mark = spread.high - spread.low > 0.15 * spread.median ? "~" : "";
    return fmt::format("{:>{}}", mark + number_text(spread.median), value_columns);
  }

  std::string bar_text(std::size_t sweep_index, const std::string& form, std::size_t columns) const {
    double largest = 0;
    for (const lab::form& compared_form : result_.forms)
      largest = std::max(largest, mean_over_base(sweep_index, compared_form.name));
    const double ratio = mean_over_base(sweep_index, form);
    if (ratio <= 0) return {};
    const std::size_t used_columns = 2 + name_columns + value_columns * columns + 9;
    return fmt::format("   {:>5} ", lab::two_digits(ratio)) +
           bar(ratio / largest, std::min(bar_columns, text_width - used_columns));
  }

  double mean_over_base(std::size_t sweep_index, const std::string& form) const {
    return lab::geometric_mean(result_.ratios(sweep_index, form, base_));
  }

  void ratio_line(std::size_t sweep_index, const lab::ratio& ratio, const std::vector<std::uint64_t>& xs) {
    std::string line = "  " + pad(cut(ratio.name, name_columns), name_columns);
    bool is_there = false;
    for (const std::uint64_t x : xs) {
      const std::optional<double> value = result_.ratio(sweep_index, ratio.dividend, ratio.divisor, x);
      is_there = is_there || value;
      line += fmt::format("{:>{}}", value ? lab::two_digits(*value) : "–", value_columns);
    }
    if (is_there) text_ += line + "\n";
  }

  void original_line(const lab::original_curve& curve, const std::vector<std::uint64_t>& xs) {
    std::string line = "  " + pad(cut(curve.name, name_columns), name_columns);
    for (const std::uint64_t x : xs) {
      const auto point = std::find_if(curve.points.begin(), curve.points.end(),
                                      [&](const auto& pair) { return pair.first == static_cast<double>(x); });
      line += fmt::format("{:>{}}", point == curve.points.end() ? "–" : lab::two_digits(point->second), value_columns);
    }
    text_ += colours_.faint(line) + "\n";
  }

  // Makes a small table for each x, with the counts of each form.
  void counts(std::size_t sweep_index) {
    std::vector<std::string> names;  // those that some form has
    for (const std::string& name : result_.definition->counts) {
      const bool is_counted = std::any_of(result_.rows.begin(), result_.rows.end(), [&](const lab::row& row) {
        return row.sweep == sweep_index && row.counts.contains(name);
      });
      if (is_counted) names.push_back(name);
    }
    if (names.empty()) return;
    const std::size_t columns = std::min<std::size_t>(17, (text_width - 2 - name_columns) / names.size());
    for (const std::uint64_t x : result_.axes[sweep_index]) {
      std::string lines;
      for (const lab::form& form : result_.forms) {
        std::string line = "  " + pad(cut(form.name, name_columns), name_columns);
        bool is_there = false;
        for (const std::string& name : names) {
          const std::optional<double> number = result_.count(sweep_index, form.name, x, name);
          is_there = is_there || number;
          line += fmt::format("{:>{}}", number ? number_text(*number) : "–", columns);
        }
        if (is_there) lines += line + "\n";
      }
      if (lines.empty()) continue;
      std::string head =
          "  " + pad(cut(fmt::format("{} {}", result_.definition->sweeps[sweep_index].axis.name, group_digits(x)),
                         name_columns),
                     name_columns);
      for (const std::string& name : names) head += fmt::format("{:>{}}", cut(name, columns - 1), columns);
      text_ += colours_.faint(head) + "\n" + lines;
    }
  }

  const lab::result& result_;
  paint colours_;
  std::string text_, base_;
};

}  // namespace

std::string lab_text(const lab::result& result) { return experiment_text(result).str(); }

std::string wrap_text(const std::string& text, const std::string& indent, std::size_t columns) {
  std::string lines, line;
  std::size_t width = indent.size();
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(' ', begin);
    const std::string word = text.substr(begin, end == std::string::npos ? end : end - begin);
    std::size_t word_columns = 0;
    for (const char letter : word) word_columns += (static_cast<unsigned char>(letter) & 0xc0U) != 0x80U ? 1 : 0;
    if (!line.empty() && width + 1 + word_columns > columns) {
      lines += indent + line + "\n";
      line.clear();
      width = indent.size();
    }
    width += word_columns + (line.empty() ? 0 : 1);
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + indent + line + "\n";
}

}  // namespace tarn::command
