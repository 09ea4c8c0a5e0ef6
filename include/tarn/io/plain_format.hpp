// Formats the usual formats and arguments in a tenth of the instructions of {fmt}, with the same result. Link fmt::fmt
// beside tarn::io.
#pragma once

#include <tarn/detail/language.hpp>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <string>
#include <string_view>
#include <type_traits>

namespace tarn::io {
namespace detail {

template <class Argument, class... Types>
concept is_one_of = (std::same_as<Argument, Types> || ...);

/// An argument that "{}" writes without {fmt}: a whole number, a bool, a char or a text.
template <class Argument>
concept plain_argument = (std::integral<std::remove_cvref_t<Argument>> && sizeof(Argument) <= 8) ||
                         is_one_of<std::decay_t<Argument>, const char*, char*, std::string, std::pmr::string,
                                   std::string_view, fmt::string_view>;

/// An argument whose formatter is part of {fmt}. Another one is the program's own, and may do anything: it may log.
template <class Argument>
concept standard_argument = plain_argument<Argument> || std::is_arithmetic_v<std::remove_cvref_t<Argument>> ||
                            is_one_of<std::decay_t<Argument>, void*, const void*, std::nullptr_t>;

constexpr bool is_ascii(char c) noexcept { return static_cast<unsigned char>(c) < 0x80; }
constexpr bool needs_escape(char c) noexcept { return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\'; }

}  // namespace detail

/// A format of {fmt} that is checked, and divided at its replacements, when the program is compiled. A function takes
/// it as `message_format<Arguments...>`, so a literal becomes one. `fmt::runtime(text)` makes one of a text that is
/// only known at run time. It refers to its text, which must outlive it. Any thread may use it; no function throws.
template <class... Arguments>
class basic_message_format {
 public:
  /// Does not compile where the format does not fit the arguments.
  template <class Text>
    requires std::convertible_to<const Text&, fmt::string_view>
  consteval basic_message_format(const Text& text) : text_(text) {
    static_cast<void>(fmt::format_string<Arguments...>(text));
    divide();
  }
  /// Keeps a text that is only known at run time. An invalid format throws fmt::format_error when it is used.
  basic_message_format(decltype(fmt::runtime(fmt::string_view())) text) noexcept : text_(text.str) { divide(); }

  /// Returns the format as {fmt} reads it.
  constexpr fmt::string_view text() const noexcept { return text_; }
  /// Returns true when each argument is plain (detail::plain_argument) and has one "{}", and nothing else is in braces.
  constexpr bool is_plain() const noexcept { return is_plain_; }
  /// Returns true when the format has a character that may be written as more than one into a line of a log.
  constexpr bool may_need_escape() const noexcept { return may_need_escape_; }
  /// Returns the number of literal bytes before replacement `number`, or behind the last one, if the format is plain.
  constexpr std::size_t literal(std::size_t number) const noexcept { return literals_[number]; }

 private:
  constexpr void divide() noexcept {
    std::size_t number = 0, start = 0;
    for (std::size_t offset = 0; offset < text_.size(); ++offset) {
      const char c = text_.data()[offset];
      may_need_escape_ |= detail::needs_escape(c) || !detail::is_ascii(c);
      if (c != '{' && c != '}') continue;
      if (c == '}' || offset + 1 == text_.size() || text_.data()[offset + 1] != '}' || number == sizeof...(Arguments)) {
        return;
      }
      literals_[number++] = static_cast<std::uint32_t>(offset - start);
      start = ++offset + 1;
    }
    literals_[number] = static_cast<std::uint32_t>(text_.size() - start);
    is_plain_ = number == sizeof...(Arguments) && (detail::plain_argument<Arguments> && ...);
  }

  fmt::string_view text_;
  std::array<std::uint32_t, sizeof...(Arguments) + 1> literals_{};
  bool is_plain_ = false;
  bool may_need_escape_ = false;
};

/// The form in which a function takes a format, so that the arguments are deduced from the arguments alone.
template <class... Arguments>
using message_format = basic_message_format<std::type_identity_t<Arguments>...>;

namespace detail {

using sixteen_bytes = unsigned char __attribute__((vector_size(16)));

/// Finds bytes that a line of a log may escape, sixteen at a time: also those beyond ASCII, which are negative here.
struct escape_search {
  sixteen_bytes hits{};

  void look(sixteen_bytes part) noexcept {
    using signed_bytes = signed char __attribute__((vector_size(16)));
    hits |=
        reinterpret_cast<sixteen_bytes>((reinterpret_cast<signed_bytes>(part) < ' ') | (part == '"') | (part == '\\'));
  }
  bool is_found() const noexcept {
    const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(hits);
    return (halves[0] | halves[1]) != 0;
  }
};
struct no_search {
  void look(sixteen_bytes) noexcept {}
};

template <class Word>
Word load(const char* source) noexcept {
  Word word;
  std::memcpy(&word, source, sizeof word);
  return word;
}
template <class Word>
void store(char* target, Word word) noexcept {
  std::memcpy(target, &word, sizeof word);
}

/// Returns true when the search finds something in the text.
inline bool may_need_escape(const char* text, std::size_t size) noexcept {
  escape_search search;
  if (size < 16) {
    for (std::size_t offset = 0; offset < size; ++offset) {
      if (needs_escape(text[offset]) || !is_ascii(text[offset])) return true;
    }
    return false;
  }
  for (std::size_t offset = 0; offset + 16 < size; offset += 16) search.look(load<sixteen_bytes>(text + offset));
  search.look(load<sixteen_bytes>(text + size - 16));
  return search.is_found();
}

/// Copies a text, whose first and last bytes may be copied twice, and shows them to the search. Returns the end.
template <class Search>
char* put_text(char* target, const char* source, std::size_t size, Search& search) noexcept {
  char* const end = target + size;
  if (size >= 16) {
    const std::size_t last = size - 16;
    for (std::size_t offset = 0; offset < last; offset += 16) {
      const auto part = load<sixteen_bytes>(source + offset);
      store(target + offset, part);
      search.look(part);
    }
    const auto part = load<sixteen_bytes>(source + last);
    store(end - 16, part);
    search.look(part);
  } else if (size >= 8) {
    const std::array halves = {load<std::uint64_t>(source), load<std::uint64_t>(source + size - 8)};
    store(target, halves[0]);
    store(end - 8, halves[1]);
    search.look(std::bit_cast<sixteen_bytes>(halves));
  } else if (size >= 4) {
    const std::uint32_t first = load<std::uint32_t>(source), second = load<std::uint32_t>(source + size - 4);
    store(target, first);
    store(end - 4, second);
    search.look(std::bit_cast<sixteen_bytes>(std::array{first, second, first, second}));
  } else {
    for (; target != end; ++target, ++source) {
      *target = *source;
      sixteen_bytes letters;
      std::memset(&letters, *source, sizeof letters);
      search.look(letters);
    }
  }
  return end;
}

struct digit_pairs {
  char text[100][2];
  consteval digit_pairs() noexcept : text{} {
    for (int number = 0; number < 100; ++number) {
      text[number][0] = static_cast<char>('0' + number / 10);
      text[number][1] = static_cast<char>('0' + number % 10);
    }
  }
};
inline constexpr digit_pairs two_digits;

inline constexpr std::size_t max_digits = 20;  // of a number of 64 bits, with its sign

/// Writes a number in decimal. Returns the end.
inline char* put_number(char* target, std::uint64_t value) noexcept {
  if (value < 10) {
    *target = static_cast<char>('0' + value);
    return target + 1;
  }
  static constexpr auto powers = [] {
    std::array<std::uint64_t, max_digits> result{};
    for (std::uint64_t power = 1; std::uint64_t & next : result) {
      next = power;
      power *= 10;
    }
    return result;
  }();
  // 1233 / 4096 is a little more than the logarithm of 2: this is the number of digits, or one more.
  const unsigned digits = static_cast<unsigned>(std::bit_width(value)) * 1233 >> 12;
  char* const end = target + digits + (value >= powers[digits] ? 1 : 0);
  char* position = end;
  for (; value >> 32 != 0; value /= 100) std::memcpy(position -= 2, two_digits.text[value % 100], 2);
  auto small_value = static_cast<std::uint32_t>(value);  // 32 bits are divided in fewer instructions
  for (; small_value >= 100; small_value /= 100) std::memcpy(position -= 2, two_digits.text[small_value % 100], 2);
  if (small_value >= 10) {
    std::memcpy(position - 2, two_digits.text[small_value], 2);
  } else {
    position[-1] = static_cast<char>('0' + small_value);
  }
  return end;
}
inline char* put_number(char* target, std::int64_t value) noexcept {
  if (value >= 0) return put_number(target, static_cast<std::uint64_t>(value));
  *target = '-';
  return put_number(target + 1, 0 - static_cast<std::uint64_t>(value));
}

/// Returns a plain argument as a text, a char or a number of 64 bits.
template <class Argument>
auto plain_value(const Argument& argument) noexcept {
  if constexpr (std::same_as<Argument, bool>) {
    return std::string_view(argument ? "true" : "false");
  } else if constexpr (std::same_as<Argument, char>) {
    return argument;
  } else if constexpr (std::signed_integral<Argument>) {
    return static_cast<std::int64_t>(argument);
  } else if constexpr (std::unsigned_integral<Argument>) {
    return static_cast<std::uint64_t>(argument);
  } else if constexpr (std::is_convertible_v<const Argument&, const char*>) {
    const char* const text = argument;
    return text == nullptr ? std::string_view() : std::string_view(text);
  } else {
    return std::string_view(argument.data(), argument.size());
  }
}

/// Returns the most bytes that the value needs. A null pointer, which {fmt} refuses, needs more than there is; so many
/// that the sum of all arguments does not overflow.
inline std::size_t bound_of(std::string_view text) noexcept {
  return text.data() == nullptr ? std::size_t{1} << 48 : text.size();
}
inline std::size_t bound_of(char) noexcept { return 1; }
template <class Number>
std::size_t bound_of(Number) noexcept {
  return max_digits;
}

template <class Search>
char* put(char* target, std::string_view text, Search& search) noexcept {
  return put_text(target, text.data(), text.size(), search);
}
template <class Search>
char* put(char* target, char letter, Search& search) noexcept {
  return put_text(target, &letter, 1, search);
}
template <class Number, class Search>
  requires is_one_of<Number, std::int64_t, std::uint64_t>
char* put(char* target, Number value, Search&) noexcept {
  return put_number(target, value);
}

/// Copies a part of a text that ends at `end`. Up to 15 bytes behind the copy may change. Returns its end.
inline char* put_part(char* target, const char* source, std::size_t size, const char* end) noexcept {
  for (; size >= 16; size -= 16, source += 16, target += 16) store(target, load<sixteen_bytes>(source));
  if (size == 0) return target;
  if (end - source >= 16) [[likely]] {
    store(target, load<sixteen_bytes>(source));
    return target + size;
  }
  no_search search;
  return put_text(target, source, size, search);
}

/// Formats into `room` bytes if the format is plain and there is room for the most bytes that the result can have.
/// Returns the end of the result; else null, and nothing has changed. Shows the arguments to the search.
template <class Search, class... Arguments>
char* format_plainly(char* target, std::size_t room, const message_format<Arguments...>& format, Search& search,
                     const Arguments&... arguments) noexcept {
  if constexpr ((plain_argument<Arguments> && ...)) {
    if (!format.is_plain()) return nullptr;
    const auto write = [&](const auto&... values) -> char* {
      const char* source = format.text().data();
      const char* const end = source + format.text().size();
      // put_part copies sixteen bytes only where the format has so many left. They all count here, so what it copies
      // too much is within the bound.
      const std::size_t bound = (format.text().size() + ... + bound_of(values));
      if (bound > room) return nullptr;
      std::size_t number = 0;
      const auto put_literal = [&] {
        const std::size_t size = format.literal(number++);
        target = put_part(target, source, size, end);
        source += size;
      };
      constexpr std::size_t braces = 2;
      ((put_literal(), source += braces, target = put(target, values, search)), ...);
      put_literal();
      return target;
    };
    return write(plain_value(arguments)...);
  } else {
    return nullptr;
  }
}

/// Does what fmt::format_to_n does: writes at most `room` bytes, and returns the bytes that the whole result has.
template <class... Arguments>
std::size_t format_message(char* target, std::size_t room, const message_format<Arguments...>& format,
                           Arguments&... arguments) {
  no_search search;
  if (char* const end = format_plainly<no_search, Arguments...>(target, room, format, search, arguments...))
      [[likely]] {
    return static_cast<std::size_t>(end - target);
  }
  return fmt::vformat_to_n(target, room, format.text(), fmt::make_format_args(arguments...)).size;
}

}  // namespace detail
}  // namespace tarn::io
