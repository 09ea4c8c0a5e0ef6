#include "tarn/lab_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lab/json.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

constexpr std::size_t name_columns = 23, value_columns = 10, bar_columns = 16, most_values = 6;

// Draws `share` of the width in whole and eighths of a block.
std::string bar(double share, std::size_t columns) {
  constexpr std::array eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto all =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns) * 8));
  std::string made;
  for (std::size_t at = 0; at < all / 8; ++at) made += "█";
  return made + eighths.at(all % 8);
}

std::string padded(const std::string& text, std::size_t columns) {
  std::size_t wide = 0;
  for (const char each : text) wide += (static_cast<unsigned char>(each) & 0xc0U) != 0x80U ? 1 : 0;
  return text + std::string(wide < columns ? columns - wide : 0, ' ');
}

std::string number_words(double number) {
  return number >= 1e10   ? fmt::format("{:.3g}", number)
         : number >= 99.5 ? grouped(static_cast<std::uint64_t>(std::llround(number)))
                          : lab::two_digits(number);
}

class text_of {
 public:
  explicit text_of(const lab::result& of) : of_(of) {}

  std::string all() {
    text_ = colours_.bold(of_.of->name) + ": " + cut(of_.of->source, page_width - of_.of->name.size() - 2) + "\n";
    text_ += wrapped(of_.of->claim, "  ", page_width);
    for (std::size_t at = 0; at < of_.axes.size(); ++at) table(at);
    for (const std::string& each : of_.skipped) text_ += wrapped(each, "  ", page_width);
    if (!of_.failure.empty()) {
      text_ += wrapped("ended early: " + of_.failure, "  ", page_width);
    } else {
      using lab::holds;
      const holds held = of_.told.whether;
      const std::string word = held == holds::yes      ? "The claim holds. "
                               : held == holds::partly ? "The claim holds in part. "
                               : held == holds::no     ? "The claim does not hold. "
                                                       : "";
      text_ += wrapped(word + of_.told.words, "  ", page_width);
    }
    return text_ + "\n";
  }

 private:
  void table(std::size_t at) {
    const lab::sweep& in = of_.of->sweeps[at];
    text_ += "\n" + wrapped(fmt::format("{} ({}, median of {})", in.title, in.y_label, of_.rounds), "  ", page_width);
    base_ = base_of(at);
    const std::vector<std::uint64_t>& all = of_.axes[at];
    for (std::size_t begin = 0; begin < all.size(); begin += most_values) {
      const std::vector<std::uint64_t> part(
          all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(begin + most_values, all.size())));
      head(in, part, begin + most_values >= all.size());
      for (const lab::form& each : of_.forms) line(at, each, part, begin + most_values >= all.size());
      for (const lab::ratio& each : in.ratios) ratio_line(at, each, part);
      for (const lab::original_curve& each : in.original_ratios) original_line(each, part);
    }
    counts(at);
  }

  // Returns the first form that does this sweep.
  std::string base_of(std::size_t at) const {
    for (const lab::form& each : of_.forms) {
      const bool is_there = std::any_of(of_.rows.begin(), of_.rows.end(),
                                        [&](const lab::row& in) { return in.sweep == at && in.form == each.name; });
      if (is_there) return each.name;
    }
    return {};
  }

  void head(const lab::sweep& in, const std::vector<std::uint64_t>& xs, bool has_bars) {
    std::string line = "  " + padded(cut(in.x_label, name_columns), name_columns);
    for (const std::uint64_t x : xs)
      line += fmt::format("{:>{}}", in.x_names.empty() ? grouped(x) : in.x_name(x), value_columns);
    if (has_bars)
      line += "   " + cut("time over " + base_ + "'s", page_width - 5 - name_columns - value_columns * xs.size());
    text_ += colours_.faint(line) + "\n";
  }

  void line(std::size_t at, const lab::form& of, const std::vector<std::uint64_t>& xs, bool has_bars) {
    std::string line = "  " + padded(cut(of.name, name_columns), name_columns);
    bool is_there = false;
    for (const std::uint64_t x : xs) {
      const lab::row* const found = of_.find(at, of.name, x);
      is_there = is_there || found != nullptr;
      line += cell(found);
    }
    if (!is_there) return;
    if (has_bars) line += bar_words(at, of.name, xs.size());
    text_ += (of.is == lab::role::ours ? colours_.strong(line) : line) + "\n";
  }

  // Adds ~ where the quartiles are more than 15 % apart.
  static std::string cell(const lab::row* of) {
    if (of == nullptr || of->ns.empty()) return fmt::format("{:>{}}", "–", value_columns);
    const lab::spread told = lab::spread_of(of->ns);
    const std::string mark = told.high - told.low > 0.15 * told.median ? "~" : "";
    return fmt::format("{:>{}}", mark + number_words(told.median), value_columns);
  }

  std::string bar_words(std::size_t at, const std::string& form, std::size_t columns) const {
    double most = 0;
    for (const lab::form& each : of_.forms) most = std::max(most, mean_over_base(at, each.name));
    const double own = mean_over_base(at, form);
    if (own <= 0) return {};
    const std::size_t used = 2 + name_columns + value_columns * columns + 9;
    return fmt::format("   {:>5} ", lab::two_digits(own)) + bar(own / most, std::min(bar_columns, page_width - used));
  }

  double mean_over_base(std::size_t at, const std::string& form) const {
    return lab::geometric_mean(of_.ratios(at, form, base_));
  }

  void ratio_line(std::size_t at, const lab::ratio& of, const std::vector<std::uint64_t>& xs) {
    std::string line = "  " + padded(cut(of.name, name_columns), name_columns);
    bool is_there = false;
    for (const std::uint64_t x : xs) {
      const std::optional<double> each = of_.ratio(at, of.over, of.under, x);
      is_there = is_there || each;
      line += fmt::format("{:>{}}", each ? lab::two_digits(*each) : "–", value_columns);
    }
    if (is_there) text_ += line + "\n";
  }

  void original_line(const lab::original_curve& of, const std::vector<std::uint64_t>& xs) {
    std::string line = "  " + padded(cut(of.name, name_columns), name_columns);
    for (const std::uint64_t x : xs) {
      const auto found = std::find_if(of.points.begin(), of.points.end(),
                                      [&](const auto& each) { return each.first == static_cast<double>(x); });
      line += fmt::format("{:>{}}", found == of.points.end() ? "–" : lab::two_digits(found->second), value_columns);
    }
    text_ += colours_.faint(line) + "\n";
  }

  // Makes a small table for each x, with the counts of each form.
  void counts(std::size_t at) {
    std::vector<std::string> names;  // those that some form has
    for (const std::string& each : of_.of->counts) {
      const bool has = std::any_of(of_.rows.begin(), of_.rows.end(),
                                   [&](const lab::row& in) { return in.sweep == at && in.counts.contains(each); });
      if (has) names.push_back(each);
    }
    if (names.empty()) return;
    const std::size_t columns = std::min<std::size_t>(17, (page_width - 2 - name_columns) / names.size());
    for (const std::uint64_t x : of_.axes[at]) {
      std::string lines;
      for (const lab::form& each : of_.forms) {
        std::string line = "  " + padded(cut(each.name, name_columns), name_columns);
        bool is_there = false;
        for (const std::string& name : names) {
          const std::optional<double> number = of_.count(at, each.name, x, name);
          is_there = is_there || number;
          line += fmt::format("{:>{}}", number ? number_words(*number) : "–", columns);
        }
        if (is_there) lines += line + "\n";
      }
      if (lines.empty()) continue;
      std::string head =
          "  " +
          padded(cut(fmt::format("{} {}", of_.of->sweeps[at].axis.name, grouped(x)), name_columns), name_columns);
      for (const std::string& name : names) head += fmt::format("{:>{}}", cut(name, columns - 1), columns);
      text_ += colours_.faint(head) + "\n" + lines;
    }
  }

  const lab::result& of_;
  paint colours_;
  std::string text_, base_;
};

}  // namespace

std::string lab_text(const lab::result& of) { return text_of(of).all(); }

std::string wrapped(const std::string& text, const std::string& indent, std::size_t columns) {
  std::string made, line;
  std::size_t wide = indent.size();
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(' ', begin);
    const std::string word = text.substr(begin, end == std::string::npos ? end : end - begin);
    std::size_t own = 0;
    for (const char each : word) own += (static_cast<unsigned char>(each) & 0xc0U) != 0x80U ? 1 : 0;
    if (!line.empty() && wide + 1 + own > columns) {
      made += indent + line + "\n";
      line.clear();
      wide = indent.size();
    }
    wide += own + (line.empty() ? 0 : 1);
    line += (line.empty() ? "" : " ") + word;
  }
  return made + indent + line + "\n";
}

}  // namespace tarn::command
