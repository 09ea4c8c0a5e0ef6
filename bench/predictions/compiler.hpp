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
  kind operation;
  std::uint64_t value = 0;
  std::string_view text;
  std::unique_ptr<node> left, right;
  explicit node(kind operation_) : operation(operation_) {}
};

template <bool Pooled>
class parser {
  using tree = std::unique_ptr<node<Pooled>>;
  using kind = typename node<Pooled>::kind;

 public:
  explicit parser(std::string_view text) : remaining_(text) {}

  tree sum() {
    tree expression = product();
    while (take('+')) expression = make_pair(kind::sum, std::move(expression), product());
    return expression;
  }

 private:
  tree product() {
    tree expression = operand();
    while (take('*')) expression = make_pair(kind::product, std::move(expression), operand());
    return expression;
  }
  tree operand() {
    if (take('(')) {
      tree expression = sum();
      take(')');
      return expression;
    }
    std::size_t end = 0;
    while (end < remaining_.size() && (remaining_[end] >= 'a' || (remaining_[end] >= '0' && remaining_[end] <= '9')))
      ++end;
    tree expression = make_leaf(remaining_.substr(0, end));
    remaining_.remove_prefix(end);
    return expression;
  }
  bool take(char wanted) {
    while (!remaining_.empty() && remaining_.front() == ' ') remaining_.remove_prefix(1);
    if (remaining_.empty() || remaining_.front() != wanted) return false;
    remaining_.remove_prefix(1);
    while (!remaining_.empty() && remaining_.front() == ' ') remaining_.remove_prefix(1);
    return true;
  }
  [[gnu::noinline]] static tree make_pair(kind operation, tree left, tree right) {
    tree expression(new node<Pooled>(operation));
    expression->left = std::move(left);
    expression->right = std::move(right);
    return expression;
  }
  [[gnu::noinline]] static tree make_leaf(std::string_view text) {
    const bool is_number = !text.empty() && text.front() < 'a';
    tree expression(new node<Pooled>(is_number ? kind::number : kind::name));
    expression->text = text;
    for (const char character : text)
      expression->value = expression->value * (is_number ? 10 : 31) + static_cast<unsigned char>(character);
    return expression;
  }

  std::string_view remaining_;
};

template <bool Pooled>
std::uint64_t folded(const node<Pooled>& tree) {
  switch (tree.operation) {
    case node<Pooled>::kind::sum: return folded(*tree.left) + folded(*tree.right);
    case node<Pooled>::kind::product: return folded(*tree.left) * folded(*tree.right);
    default: return tree.value;
  }
}

inline std::string statement(numbers& random, int depth) {
  std::string text;
  for (std::uint32_t terms = 2 + random.below(3); terms > 0; --terms) {
    if (depth > 0 && random.below(2) == 0) {
      text += '(' + statement(random, depth - 1) + ')';
    } else {
      text += random.below(2) == 0 ? std::to_string(random.below(100000))
                                   : std::string("name") + static_cast<char>('a' + random.below(26));
    }
    if (terms > 1) text += random.below(2) == 0 ? " + " : " * ";
  }
  return text;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<std::string> source;
  for (int line = 0; line < 500; ++line) source.push_back(statement(random, 4));
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::string& expression_text : source) sum += folded(*parser<Pooled>(expression_text).sum());
  }
  return sum;
}

}  // namespace predictions::compiler
