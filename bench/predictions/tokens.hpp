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
  explicit token(std::uint32_t at) : offset(at) {}
  virtual ~token() = default;
  virtual std::uint64_t weight() const = 0;
  std::uint32_t offset;
};
template <class T, bool Pooled>
using served = std::conditional_t<Pooled, tarn::pooled<T>, plain>;

template <bool Pooled>
struct word final : token<Pooled>, served<word<Pooled>, Pooled> {
  word(std::uint32_t at, std::string_view from) : token<Pooled>(at), text(from) {}
  std::uint64_t weight() const override { return text.size() * 3 + static_cast<unsigned char>(text.front()); }
  std::string_view text;
};
template <bool Pooled>
struct literal final : token<Pooled>, served<literal<Pooled>, Pooled> {
  literal(std::uint32_t at, std::uint64_t of) : token<Pooled>(at), value(of) {}
  std::uint64_t weight() const override { return value; }
  std::uint64_t value;
};
template <bool Pooled>
struct mark final : token<Pooled>, served<mark<Pooled>, Pooled> {
  mark(std::uint32_t at, char of) : token<Pooled>(at), sign(of) {}
  std::uint64_t weight() const override { return static_cast<unsigned char>(sign) + pairs[0]; }
  char sign;
  std::uint64_t pairs[8] = {};
};

template <bool Pooled>
[[gnu::noinline]] std::unique_ptr<token<Pooled>> next_token(std::string_view text, std::uint32_t& at) {
  const std::uint32_t start = at;
  const auto is = [&](char low, char high) { return at < text.size() && text[at] >= low && text[at] <= high; };
  if (is('a', 'z')) {
    while (is('a', 'z')) ++at;
    return std::make_unique<word<Pooled>>(start, text.substr(start, at - start));
  }
  if (is('0', '9')) {
    std::uint64_t value = 0;
    for (; is('0', '9'); ++at) value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    return std::make_unique<literal<Pooled>>(start, value);
  }
  return std::make_unique<mark<Pooled>>(start, text[at++]);
}

inline std::string line(numbers& random) {
  std::string text;
  for (std::uint32_t left = 3 + random.below(60); left > 0; --left) {
    const std::uint32_t what = random.below(10);
    if (what < 4) {
      for (std::uint32_t letters = 1 + random.below(9); letters > 0; --letters)
        text += static_cast<char>('a' + random.below(26));
      text += ' ';
    } else if (what < 6) {
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
  for (int each = 0; each < 300; ++each) source.push_back(line(random));
  std::uint64_t sum = 0;
  std::vector<std::unique_ptr<token<Pooled>>> all;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::string& text : source) {
      for (std::uint32_t at = 0; at < text.size();) all.push_back(next_token<Pooled>(text, at));
      for (const auto& each : all) sum = sum * 31 + each->weight() + each->offset;
      all.clear();
    }
  }
  return sum;
}

}  // namespace predictions::tokens
