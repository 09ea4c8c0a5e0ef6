// A compiler's front end parses statements into trees of small nodes, folds them, and drops the trees. Remedy: pooled
// nodes.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tarn/pooled.hpp>
#include "predictions/work.hpp"

namespace predictions::compiler {

struct plain {};

template <bool Pooled>
struct node : std::conditional_t<Pooled, tarn::pooled<node<Pooled>>, plain> {
  enum class kind : char { number, name, sum, product };
  kind is;
  std::uint64_t value = 0;
  std::string_view text;
  std::unique_ptr<node> left, right;
  explicit node(kind of) : is(of) {}
};

template <bool Pooled>
class parser {
  using tree = std::unique_ptr<node<Pooled>>;
  using kind = typename node<Pooled>::kind;

 public:
  explicit parser(std::string_view text) : rest_(text) {}

  tree sum() {
    tree made = product();
    while (take('+')) made = make_pair(kind::sum, std::move(made), product());
    return made;
  }

 private:
  tree product() {
    tree made = operand();
    while (take('*')) made = make_pair(kind::product, std::move(made), operand());
    return made;
  }
  tree operand() {
    if (take('(')) {
      tree made = sum();
      take(')');
      return made;
    }
    std::size_t end = 0;
    while (end < rest_.size() && (rest_[end] >= 'a' || (rest_[end] >= '0' && rest_[end] <= '9'))) ++end;
    tree made = make_leaf(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return made;
  }
  bool take(char wanted) {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    return true;
  }
  [[gnu::noinline]] static tree make_pair(kind of, tree left, tree right) {
    tree made(new node<Pooled>(of));
    made->left = std::move(left);
    made->right = std::move(right);
    return made;
  }
  [[gnu::noinline]] static tree make_leaf(std::string_view text) {
    const bool is_number = !text.empty() && text.front() < 'a';
    tree made(new node<Pooled>(is_number ? kind::number : kind::name));
    made->text = text;
    for (const char each : text) made->value = made->value * (is_number ? 10 : 31) + static_cast<unsigned char>(each);
    return made;
  }

  std::string_view rest_;
};

template <bool Pooled>
std::uint64_t folded(const node<Pooled>& of) {
  switch (of.is) {
    case node<Pooled>::kind::sum: return folded(*of.left) + folded(*of.right);
    case node<Pooled>::kind::product: return folded(*of.left) * folded(*of.right);
    default: return of.value;
  }
}

inline std::string statement(numbers& random, int depth) {
  std::string made;
  for (std::uint32_t terms = 2 + random.below(3); terms > 0; --terms) {
    if (depth > 0 && random.below(2) == 0) {
      made += '(' + statement(random, depth - 1) + ')';
    } else {
      made += random.below(2) == 0 ? std::to_string(random.below(100000))
                                   : std::string("name") + static_cast<char>('a' + random.below(26));
    }
    if (terms > 1) made += random.below(2) == 0 ? " + " : " * ";
  }
  return made;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<std::string> source;
  for (int line = 0; line < 500; ++line) source.push_back(statement(random, 4));
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::string& each : source) sum += folded(*parser<Pooled>(each).sum());
  }
  return sum;
}

}  // namespace predictions::compiler
