// The levels of log lines, and the fields that a line has beside its message.
#pragma once

#include <tarn/detail/language.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tarn::io {

class log_line;

/// Says how much a line matters. A logger drops lines below its level.
enum class level : std::uint8_t {
  trace,     ///< each step
  debug,     ///< details that help to find a fault
  info,      ///< normal events of a running program
  warning,   ///< a fault that the program has dealt with
  error,     ///< a request that the program could not serve
  critical,  ///< a fault after which the program cannot continue
  off,       ///< no line has this level: a logger with it drops everything
};

/// Returns "info" for level::info, and so on. Any thread may call it.
constexpr std::string_view level_name(level severity) noexcept {
  constexpr std::string_view names[] = {"trace", "debug", "info", "warning", "error", "critical", "off"};
  return names[static_cast<std::size_t>(severity)];
}

/// Returns the level with this name, in any case of letters, also for "warn"; none for any other text. It reads what
/// level_name() returns. Any thread may call it.
constexpr std::optional<level> parse_level(std::string_view text) noexcept {
  const auto is_same = [text](std::string_view name) {
    return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                      [](char c, char lower) { return (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == lower; });
  };
  for (auto number = static_cast<std::uint8_t>(level::trace); number <= static_cast<std::uint8_t>(level::off);
       ++number) {
    if (is_same(level_name(static_cast<level>(number)))) return static_cast<level>(number);
  }
  if (is_same("warn")) return level::warning;
  return std::nullopt;
}

/// The form in which a logger writes its lines.
enum class log_form : std::uint8_t {
  logfmt,  ///< time=2026-11-22T10:00:00.000000Z level=info logger=http msg="served /" ms=3
  json,    ///< {"time":"2026-11-22T10:00:00.000000Z","level":"info","logger":"http","msg":"served /","ms":3}
};

/// Its name is the compiler's error for a literal with another character: a constant field_name cannot call it. No
/// thread ever calls it.
void field_names_have_letters_digits_underscores_dashes_and_dots_only();
/// Its name is the compiler's error for a literal that is a name of the line's own, in the same way; no thread calls
/// it.
void field_names_are_none_of_time_level_logger_and_msg();

/// The name of a field: letters, digits, `_`, `-` and `.`, but not time, level, logger or msg, which each line has. It
/// refers to its text. Any thread may make one; nothing throws. Cost: a literal is checked when it is compiled, another
/// text when it is written.
class field_name {
 public:
  /// Does not compile where the literal has another character, or is a name that each line has.
  template <std::size_t Size>
  consteval field_name(const char (&literal)[Size]) : text_(literal, Size - 1), is_plain_(true) {
    if (text_.empty() || !std::all_of(text_.begin(), text_.end(), fits)) {
      field_names_have_letters_digits_underscores_dashes_and_dots_only();
    }
    if (is_taken_by_line(text_)) field_names_are_none_of_time_level_logger_and_msg();
  }
  /// Takes a text that is only known at run time. Each other byte of it is written as `_`, and a name that each line
  /// has gets a `_` at its end.
  template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> && !std::is_array_v<Text>)
  constexpr field_name(const Text& text) noexcept : text_(text) {}

 private:
  friend class log_line;
  static constexpr bool fits(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  }
  static constexpr bool is_taken_by_line(std::string_view text) noexcept {
    return text == "time" || text == "level" || text == "logger" || text == "msg";
  }

  std::string_view text_;
  bool is_plain_ = false;
};

namespace detail {

/// A std::chrono::duration of numbers, told by its members: this header does not need <chrono>.
template <class Value>
concept duration = requires(const Value value) {
  Value::period::num;
  Value::period::den;
  requires std::is_arithmetic_v<typename Value::rep>;
  { value.count() } -> std::same_as<typename Value::rep>;
};

/// Returns the unit of a duration; empty for one that no unit has, such as frames.
template <class Period>
constexpr std::string_view unit_of() noexcept {
  if constexpr (Period::num == 1) {
    return Period::den == 1               ? "s"
           : Period::den == 1'000         ? "ms"
           : Period::den == 1'000'000     ? "us"
           : Period::den == 1'000'000'000 ? "ns"
                                          : "";
  } else {
    return Period::den != 1 ? "" : Period::num == 60 ? "min" : Period::num == 3600 ? "h" : "";
  }
}

template <class Value>
concept field_value = std::is_arithmetic_v<Value> || duration<Value> || std::convertible_to<const Value&, double> ||
                      std::convertible_to<const Value&, std::string_view>;

}  // namespace detail

/// A name and a value of a line. It refers to texts and copies nothing, so make it in the call, in the thread that
/// logs. Nothing throws. Cost: a few stores.
class log_field {
 public:
  /// A whole number, or `true` or `false`.
  template <std::integral Number>
  constexpr log_field(field_name name, Number value) noexcept : name_(name) {
    if constexpr (std::same_as<Number, bool>) {
      kind_ = kind::text_as_it_is;
      text_ = value ? "true" : "false";
    } else if constexpr (std::signed_integral<Number>) {
      kind_ = kind::signed_number;
      signed_ = value;
    } else {
      kind_ = kind::unsigned_number;
      unsigned_ = value;
    }
  }
  /// A number with a fraction, in its shortest form that reads back as the same number.
  constexpr log_field(field_name name, double value) noexcept : name_(name), kind_(kind::real_number), real_(value) {}
  /// A text, which is escaped when it is written.
  constexpr log_field(field_name name, std::string_view value) noexcept
      : name_(name), kind_(kind::text), text_(value) {}
  /// A text that ends with a zero byte.
  constexpr log_field(field_name name, const char* value) noexcept : log_field(name, std::string_view(value)) {}
  /// A duration of std::chrono, written with its unit: ns, us, ms, s, min or h. One of another unit is written in
  /// seconds.
  template <detail::duration Duration>
  constexpr log_field(field_name name, Duration value) noexcept : name_(name) {
    using period = typename Duration::period;
    constexpr std::string_view unit = detail::unit_of<period>();
    text_ = unit.empty() ? "s" : unit;
    if constexpr (unit.empty() || std::floating_point<typename Duration::rep>) {
      constexpr double factor =
          unit.empty() ? static_cast<double>(period::num) / static_cast<double>(period::den) : 1.0;
      kind_ = kind::real_duration;
      real_ = static_cast<double>(value.count()) * factor;
    } else {
      kind_ = kind::whole_duration;
      signed_ = static_cast<std::int64_t>(value.count());
    }
  }
  /// Does not compile: says which values a field may have.
  template <class Value>
    requires(!detail::field_value<Value>)
  constexpr log_field(field_name name, const Value&) noexcept : name_(name) {
    static_assert(detail::field_value<Value>, "a field has a number, a bool, a text or a duration of std::chrono");
  }

 private:
  friend class log_line;
  enum class kind : std::uint8_t {
    text,
    text_as_it_is,
    signed_number,
    unsigned_number,
    real_number,
    whole_duration,
    real_duration,
  };

  field_name name_;
  kind kind_ = kind::text;
  std::string_view text_;  // of a duration: its unit
  union {
    std::int64_t signed_ = 0;
    std::uint64_t unsigned_;
    double real_;
  };
};

}  // namespace tarn::io
