// The compiler workload: ordinary modern C++ that instantiates many templates. It is compiled, never run.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <regex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

// A type for each number, so that every use below is a new instantiation.
template <int N>
struct quantity {
  double value = N;
  friend auto operator<=>(const quantity&, const quantity&) = default;
};

template <int... N>
using any_quantity = std::variant<quantity<N>...>;

template <class Sequence>
struct make_any;
template <int... N>
struct make_any<std::integer_sequence<int, N...>> {
  using type = any_quantity<N...>;
};

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

template <int N>
double sum_pairs() {
  using made_type = typename make_any<std::make_integer_sequence<int, N>>::type;
  std::vector<made_type> values;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (values.emplace_back(quantity<I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
  double sum = 0;
  for (const made_type& a : values) {
    for (const made_type& b : values) {
      sum += std::visit(overloaded{[](const auto& x, const auto& y) { return x.value * y.value; }}, a, b);
    }
  }
  return sum;
}

// Containers and algorithms over one key type each.
template <int N>
std::size_t index_words(const std::vector<std::string>& text) {
  std::map<std::pair<quantity<N>, std::string>, std::vector<std::tuple<int, std::string>>> ordered;
  std::unordered_map<std::string, std::function<int(quantity<N>)>> actions;
  for (const std::string& word : text) {
    ordered[{quantity<N>{double(word.size())}, word}].emplace_back(N, word);
    actions.emplace(word, [size = word.size()](quantity<N> q) { return int(size + q.value); });
  }
  auto lengths = text | std::views::filter([](const std::string& w) { return w.size() > N; }) |
                 std::views::transform([](const std::string& w) { return std::optional(w.size() * N); }) |
                 std::views::take(100);
  std::vector<std::optional<std::size_t>> copy;
  std::ranges::copy(lengths, std::back_inserter(copy));
  std::ranges::stable_sort(copy, std::ranges::greater{});
  std::size_t total = ordered.size();
  for (const auto& [word, action] : actions) {
    total += action({});
  }
  return std::accumulate(copy.begin(), copy.end(), total,
                         [](std::size_t sum, const auto& length) { return sum + length.value_or(0); });
}

template <class Character>
bool match(const std::basic_string<Character>& text, const std::basic_string<Character>& pattern) {
  std::match_results<typename std::basic_string<Character>::const_iterator> groups;
  return std::regex_match(text, groups, std::basic_regex<Character>(pattern)) && groups.size() > 1;
}

}  // namespace

double sums() { return sum_pairs<4>() + sum_pairs<8>(); }

std::size_t indexes(const std::vector<std::string>& text) {
  return [&]<int... N>(std::integer_sequence<int, N...>) {
    return (index_words<N>(text) + ...);
  }(std::make_integer_sequence<int, 2>{});
}

bool matches(const std::string& text) { return match(text, text); }
