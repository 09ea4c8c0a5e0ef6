// Two recordings of one program, before and after a change: site by site, predicted beside achieved.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.hpp"

namespace tarn::analyse {

constexpr std::size_t category_count = 4;

// All sites at one place of the source: of one function, or one line of it where lines are known.
struct place_sums {
  std::string function, file;  // without arguments; the module where there is no function
  int line = 0;
  category is = category::kept;  // of the most of its allocations
  std::uint64_t allocations = 0, bytes = 0, handed_over = 0, copied = 0;
  range now_ns;
  std::optional<offer> first;  // the remedy to take first, of the site that has most of the cost
  std::string remedy;          // in one line
};

struct change {
  std::optional<place_sums> before, after;  // one at least
  // What the change of the site saved, at the prices of both; and what its first remedy was said to save.
  range achieved_ns() const;
  bool is_as_predicted() const;  // the two overlap; false where nothing was predicted
};

struct difference {
  std::vector<change> changes;  // the largest first; without those where nothing changed
  std::array<std::uint64_t, category_count> before{}, after{};  // allocations by category
  range before_ns, after_ns;                                    // the heap's cost
};

// Places are the same if function, file and line are, or module and function where there is no line; what is left over
// of one function is matched in the order of lines, as an edit moves them.
std::vector<place_sums> sums_by_place(const std::vector<site_view>& views);
difference compare(const std::vector<place_sums>& before, const std::vector<place_sums>& after);

}  // namespace tarn::analyse
