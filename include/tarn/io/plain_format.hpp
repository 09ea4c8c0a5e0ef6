// Formats the usual formats and arguments in a third of the instructions of {fmt}, with the same result. Link fmt::fmt
// beside tarn::io.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tarn::io::detail {

/// Writes one argument as "{}" does. Returns the end; null for what {fmt} has to write, and without room.
struct plain_argument {
  char* place;
  char* end;

  char* text(const char* source, std::size_t size) const noexcept {
    if (static_cast<std::size_t>(end - place) < size) {
      return nullptr;
    }
    std::memcpy(place, source, size);
    return place + size;
  }

  template <class Value>
  char* operator()(Value) const noexcept {
    return nullptr;
  }
  template <class Number>
    requires std::same_as<Number, int> || std::same_as<Number, unsigned> || std::same_as<Number, long long> ||
             std::same_as<Number, unsigned long long>
  char* operator()(Number value) const noexcept {
    const fmt::format_int digits(value);
    return text(digits.data(), digits.size());
  }
  char* operator()(bool value) const noexcept { return value ? text("true", 4) : text("false", 5); }
  char* operator()(char value) const noexcept { return text(&value, 1); }
  char* operator()(const char* value) const noexcept {
    return value == nullptr ? nullptr : text(value, std::strlen(value));
  }
  char* operator()(fmt::string_view value) const noexcept { return text(value.data(), value.size()); }
};

/// Formats into [place, end) if each replacement in the format is "{}" and each argument is a whole number, a bool, a
/// char or a text. Returns the end of the result. Returns null for everything else, invalid formats among it, and when
/// there is not enough room; bytes in [place, end) may have changed then.
inline char* format_plainly(char* place, char* end, fmt::string_view format, const fmt::format_args& arguments) {
  static_assert(std::endian::native == std::endian::little);
  // The lowest bit of the result is in the lowest byte of `word` that is `byte`.
  constexpr auto bytes_with = [](std::uint64_t word, unsigned char byte) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    const std::uint64_t difference = word ^ byte * ones;
    return (difference - ones) & ~difference & (ones << 7);
  };
  const char* source = format.data();
  const char* const last = source + format.size();
  for (int number = 0;; ++number) {
    for (;;) {  // copies up to the next brace
      if (last - source >= 8 && end - place >= 8) [[likely]] {
        std::uint64_t word;
        std::memcpy(&word, source, sizeof word);
        std::memcpy(place, &word, sizeof word);
        const std::uint64_t braces = bytes_with(word, '{') | bytes_with(word, '}');
        const int copied = braces == 0 ? 8 : std::countr_zero(braces) / 8;
        source += copied;
        place += copied;
        if (braces != 0) {
          break;
        }
      } else if (source == last) {
        return place;
      } else if (*source == '{' || *source == '}') {
        break;
      } else if (place == end) {
        return nullptr;
      } else {
        *place++ = *source++;
      }
    }
    if (*source != '{' || last - source < 2 || source[1] != '}') {
      return nullptr;
    }
    source += 2;
    const auto argument = arguments.get(number);
#if FMT_VERSION >= 110000
    place = argument.visit(plain_argument{place, end});
#else
    place = fmt::visit_format_arg(plain_argument{place, end}, argument);
#endif
    if (place == nullptr) {
      return nullptr;
    }
  }
}

/// Does what fmt::vformat_to_n does: writes at most `room` bytes, and returns the bytes that the whole result has.
inline std::size_t format_message(char* place, std::size_t room, fmt::string_view format,
                                  const fmt::format_args& arguments) {
  if (char* const end = format_plainly(place, place + room, format, arguments)) [[likely]] {
    return static_cast<std::size_t>(end - place);
  }
  return fmt::vformat_to_n(place, room, format, arguments).size;
}

}  // namespace tarn::io::detail
