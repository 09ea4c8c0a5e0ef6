// A lexer makes tokens of three classes, a pass over them follows, and all are dropped. Remedy: pooled tokens.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tarn/pooled.hpp>
#include "predictions/work.hpp"

namespace predictions::tokens {

struct plain {};

template <bool Pooled>
struct token {
  explicit token(std::uint32_t start) : offset(start) {}
  virtual ~token() = default;
  virtual std::uint64_t weight() const = 0;
  std::uint32_t offset;
};
template <class T, bool Pooled>
using served = std::conditional_t<Pooled, tarn::pooled<T>, plain>;

template <bool Pooled>
struct word final : token<Pooled>, served<word<Pooled>, Pooled> {
  word(std::uint32_t start, std::string_view text_) : token<Pooled>(start), text(text_) {}
  std::uint64_t weight() const override { return text.size() * 3 + static_cast<unsigned char>(text.front()); }
  std::string_view text;
};
template <bool Pooled>
struct literal final : token<Pooled>, served<literal<Pooled>, Pooled> {
  literal(std::uint32_t start, std::uint64_t value_) : token<Pooled>(start), value(value_) {}
  std::uint64_t weight() const override { return value; }
  std::uint64_t value;
};
template <bool Pooled>
struct mark final : token<Pooled>, served<mark<Pooled>, Pooled> {
  mark(std::uint32_t start, char sign_) : token<Pooled>(start), sign(sign_) {}
  std::uint64_t weight() const override { return static_cast<unsigned char>(sign) + pairs[0]; }
  char sign;
  std::uint64_t pairs[8] = {};
};

template <bool Pooled>
[[gnu::noinline]] std::unique_ptr<token<Pooled>> next_token(std::string_view text, std::uint32_t& position) {
  const std::uint32_t start = position;
  const auto is_between = [&](char low, char high) {
    return position < text.size() && text[position] >= low && text[position] <= high;
  };
  if (is_between('a', 'z')) {
    while (is_between('a', 'z')) ++position;
    return std::make_unique<word<Pooled>>(start, text.substr(start, position - start));
  }
  if (is_between('0', '9')) {
    std::uint64_t value = 0;
    for (; is_between('0', '9'); ++position) value = value * 10 + static_cast<std::uint64_t>(text[position] - '0');
    return std::make_unique<literal<Pooled>>(start, value);
  }
  return std::make_unique<mark<Pooled>>(start, text[position++]);
}

inline std::string line(numbers& random) {
  std::string text;
  for (std::uint32_t left = 3 + random.below(60); left > 0; --left) {
    const std::uint32_t kind = random.below(10);
    if (kind < 4) {
      for (std::uint32_t letters = 1 + random.below(9); letters > 0; --letters)
        text += static_cast<char>('a' + random.below(26));
      text += ' ';
    } else if (kind < 6) {
      text += std::to_string(random.below(100000)) + ' ';
    } else {
      text += "+-*/()=;,<>"[random.below(11)];
    }
  }
  return text;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<std::string> source;
  for (int number = 0; number < 300; ++number) source.push_back(line(random));
  std::uint64_t sum = 0;
  std::vector<std::unique_ptr<token<Pooled>>> tokens;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::string& text : source) {
      for (std::uint32_t position = 0; position < text.size();) tokens.push_back(next_token<Pooled>(text, position));
      for (const auto& current : tokens) sum = sum * 31 + current->weight() + current->offset;
      tokens.clear();
    }
  }
  return sum;
}

}  // namespace predictions::tokens
