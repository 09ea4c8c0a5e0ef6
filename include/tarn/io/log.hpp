// Named loggers with levels, times and fields, whose lines go into a journal. Like io/format.hpp and
// io/plain_format.hpp it needs {fmt}: link fmt::fmt beside tarn::io.
#pragma once

#include <fmt/format.h>
#include <tarn/detail/fast_clock.hpp>
#include <tarn/io/journal.hpp>
#include <tarn/io/log_field.hpp>
#include <tarn/io/plain_format.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tarn::io {

namespace detail {

/// A byte that no text in UTF-8 has.
inline constexpr char invalid_mark = '\xff';

/// Returns the bytes of the character of UTF-8 that begins here; 0: none does.
constexpr std::size_t character_bytes(const char* text, const char* end) noexcept {
  const auto byte = [=](std::ptrdiff_t offset) { return static_cast<unsigned char>(text[offset]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::ptrdiff_t size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (size == 0 || end - text < size) return 0;
  // The second byte tells sequences that are longer than necessary, surrogates, and numbers beyond Unicode.
  const unsigned char minimum = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char greatest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < minimum || byte(1) > greatest) return 0;
  for (std::ptrdiff_t offset = 2; offset < size; ++offset) {
    if ((byte(offset) & 0xc0u) != 0x80u) return 0;
  }
  return static_cast<std::size_t>(size);
}

/// Replaces each byte that belongs to no character of UTF-8 by the mark.
inline void mark_invalid(char* text, const char* end) noexcept {
  while (text != end) {
    const std::size_t bytes = character_bytes(text, end);
    if (bytes == 0) *text = invalid_mark;
    text += bytes == 0 ? 1 : bytes;
  }
}

inline constexpr std::size_t time_bytes = 27;

/// Writes the date and the time of day of a second since 1970, as 2026-11-22T10:00:00. and with the dot. The C
/// library's functions take a lock, which a signal handler may have interrupted.
inline void put_second(char* target, std::int64_t second) noexcept {
  const std::chrono::sys_seconds time{std::chrono::seconds(second)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time_of_day(time - day);
  const auto put = [&target](auto number, char end) {
    std::memcpy(target, two_digits.text[static_cast<std::size_t>(number) % 100], 2);
    target[2] = end;
    target += 3;
  };
  const int year = static_cast<int>(date.year());
  put(year / 100, ' ');
  --target;
  put(year % 100, '-');
  put(static_cast<unsigned>(date.month()), '-');
  put(static_cast<unsigned>(date.day()), 'T');
  put(time_of_day.hours().count(), ':');
  put(time_of_day.minutes().count(), ':');
  put(time_of_day.seconds().count(), '.');
}

inline constexpr std::size_t second_bytes = 20;

/// A second of a thread's clock, with its text.
struct formatted_second {
  std::int64_t start_ns = 0;
  char text[second_bytes + 1] = "1970-01-01T00:00:00.";
  bool is_in_use = false;  // also by the code that a signal handler interrupted

  /// Writes the time that is `now` nanoseconds after 1970, or before it if negative. Returns the end.
  char* put(char* target, std::int64_t now) noexcept;
};

/// Writes the time that the clock has at this tick, as 2026-11-22T10:00:00.000000Z. The date and the time of day are
/// formatted once a second in each thread. Returns the end.
inline char* put_time(char* target, std::uint64_t tick) noexcept {
  static constinit thread_local formatted_second last{};
  if (last.is_in_use) [[unlikely]] {  // this is a signal handler, and the clock of the thread may be half-written
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    formatted_second own_second;
    return own_second.put(target, std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
  }
  last.is_in_use = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  char* const end = last.put(target, tarn::detail::fast_ns_at(tick));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  last.is_in_use = false;
  return end;
}

inline char* formatted_second::put(char* target, std::int64_t now) noexcept {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  // A clock that was set back makes a large number here.
  std::uint64_t passed_ns = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(start_ns);
  if (passed_ns >= second_ns) [[unlikely]] {
    // Rounds down, also before 1970. The first second of the type's range begins before it: so no signed products.
    const auto second = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds(now)).count();
    put_second(text, second);
    start_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(second) * second_ns);
    passed_ns = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(start_ns);
  }
  const std::uint32_t micros = static_cast<std::uint32_t>(passed_ns) / 1000;
  std::memcpy(target, text, second_bytes);
  const std::uint32_t hundredths = micros / 100;
  std::memcpy(target + 20, two_digits.text[hundredths / 100], 2);
  std::memcpy(target + 22, two_digits.text[hundredths % 100], 2);
  std::memcpy(target + 24, two_digits.text[micros % 100], 2);
  target[26] = 'Z';
  return target + time_bytes;
}

/// Returns the bytes of a line before its head: the time and its name.
constexpr std::size_t before_head(log_form form) noexcept { return (form == log_form::json ? 9 : 5) + time_bytes; }

/// Writes the time that the clock has at this tick, with its name, and the head. Returns the end.
inline char* put_head(char* target, std::string_view head, std::uint64_t tick, log_form form) noexcept {
  // NOLINTBEGIN(bugprone-not-null-terminated-result): more follows
  if (form == log_form::json) {
    std::memcpy(target, "{\"time\":\"", 9);
  } else {
    std::memcpy(target, "time=", 5);
  }
  // NOLINTEND(bugprone-not-null-terminated-result)
  char* const end = put_time(target + before_head(form) - time_bytes, tick);
  no_search search;
  return put_text(end, head.data(), head.size(), search);
}

}  // namespace detail

/// Builds a line in a buffer of limited size, and counts the bytes that do not fit. Threads: one at a time. Errors:
/// functions that format by {fmt} throw fmt::format_error for an invalid format that is only known at run time. Cost:
/// no allocation; a text is copied once, and once more if characters are escaped.
class log_line {
 public:
  /// Writes into `room` bytes at `buffer`, which must outlive the line.
  log_line(char* buffer, std::size_t room, log_form form) noexcept : buffer_(buffer), room_(room), form_(form) {}

  /// Returns the number of bytes that the line needs so far; more than `room` if it does not fit.
  std::size_t size() const noexcept { return size_; }

  /// Writes the level and the name of the logger, as begin() expects them. A logger does this once for each level.
  void head(level severity, std::string_view logger) noexcept {
    append(form_ == log_form::json ? "\",\"level\":\"" : " level=");
    append(level_name(severity));
    append(form_ == log_form::json ? "\",\"logger\":" : " logger=");
    append_text(logger);
    append(form_ == log_form::json ? ",\"msg\":\"" : " msg=\"");
  }

  /// Writes the time that the clock has at this tick, the head, and the message. The line is empty before.
  template <class... Arguments>
  void begin(std::string_view head, std::uint64_t tick, const message_format<Arguments...>& format,
             Arguments&... arguments) {
    constexpr std::size_t quotes = 1;
    const std::size_t before = detail::before_head(form_) + head.size();
    if (before + quotes < room_) [[likely]] {
      char* const start = detail::put_head(buffer_, head, tick, form_);
      detail::escape_search search;
      if (char* const end = detail::format_plainly<detail::escape_search, Arguments...>(
              start, room_ - before - quotes, format, search, arguments...)) [[likely]] {
        *end = '"';
        size_ = static_cast<std::size_t>(end - buffer_) + quotes;
        if (search.is_found() || format.may_need_escape()) {
          --size_;
          escape_where_needed(before);
          append("\"");
        }
        return;
      }
    }
    begin(head, tick);
    message(format.text(), fmt::make_format_args(arguments...), ~std::size_t{0});
  }

  /// Writes the time and the head alone.
  void begin(std::string_view head, std::uint64_t tick) noexcept {
    size_ = detail::before_head(form_) + head.size();
    if (size_ <= room_) detail::put_head(buffer_, head, tick, form_);
  }

  /// Writes the message by {fmt}, or at most `limit` bytes of it.
  void message(fmt::string_view format, fmt::format_args arguments, std::size_t limit) {
    const std::size_t start = size_;
    const std::size_t room = start < room_ ? std::min(room_ - start, limit) : 0;
    const std::size_t formatted_bytes = fmt::vformat_to_n(buffer_ + start, room, format, arguments).size;
    size_ += std::min(formatted_bytes, limit);
    if (formatted_bytes <= room) {
      escape_where_needed(start);
    } else if (limit == room) {  // cut: a character may have lost its end
      while (size_ > start && (static_cast<unsigned char>(buffer_[size_ - 1]) & 0xc0u) == 0x80u) --size_;
      if (size_ > start && static_cast<unsigned char>(buffer_[size_ - 1]) >= 0xc0u) --size_;
      escape_where_needed(start);
    }
    append("\"");
  }

  /// Appends a field.
  void field(const log_field& added) {
    const bool is_json = form_ == log_form::json;
    append(is_json ? ",\"" : " ");
    append_name(added.name_);
    append(is_json ? "\":" : "=");
    char digits[32];
    const auto append_number = [&](auto value) {
      append({digits, static_cast<std::size_t>(detail::put_number(digits, value) - digits)});
    };
    const auto append_real = [&] {
      append({digits, std::min(sizeof digits, fmt::format_to_n(digits, sizeof digits, "{}", added.real_).size)});
    };
    switch (added.kind_) {
      case log_field::kind::text: append_text(added.text_); break;
      case log_field::kind::text_as_it_is: append(added.text_); break;
      case log_field::kind::signed_number: append_number(added.signed_); break;
      case log_field::kind::unsigned_number: append_number(added.unsigned_); break;
      case log_field::kind::real_number:
        if (is_json && !(added.real_ - added.real_ == 0)) {  // JSON has no infinity and no "not a number"
          append("null");
        } else {
          append_real();
        }
        break;
      case log_field::kind::whole_duration:
      case log_field::kind::real_duration:
        append(is_json ? "\"" : "");
        if (added.kind_ == log_field::kind::whole_duration) {
          append_number(added.signed_);
        } else {
          append_real();
        }
        append(added.text_);
        append(is_json ? "\"" : "");
        break;
    }
  }

  void end() noexcept {
    if (form_ == log_form::json) {
      append("}");
    }
  }

 private:
  void append(std::string_view text) noexcept {
    if (size_ + text.size() <= room_) text.copy(buffer_ + size_, text.size());
    size_ += text.size();
  }

  void append_name(const field_name& name) noexcept {
    if (name.is_plain_ || name.text_.empty()) [[likely]] {
      return append(name.text_.empty() ? "_" : name.text_);
    }
    const std::size_t start = size_;
    append(name.text_);
    if (size_ <= room_) {
      std::replace_if(
          buffer_ + start, buffer_ + size_, [](char c) { return !field_name::fits(c); }, '_');
    }
    if (field_name::is_taken_by_line(name.text_)) append("_");
  }

  /// Writes a text; in logfmt, one that needs no quotes has none.
  void append_text(std::string_view text) noexcept {
    if (form_ == log_form::logfmt && !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
          return c > ' ' && c != '"' && c != '=' && c != '\\' && c != '\x7f';
        })) {
      return append(text);
    }
    append("\"");
    const std::size_t start = size_;
    append(text);
    if (size_ <= room_) escape_where_needed(start);
    append("\"");
  }

  void escape_where_needed(std::size_t start) noexcept {
    if (!detail::may_need_escape(buffer_ + start, size_ - start)) return;
    if (form_ == log_form::json) detail::mark_invalid(buffer_ + start, buffer_ + size_);
    if (std::any_of(buffer_ + start, buffer_ + size_, [this](char c) { return is_escaped(c); })) escape(start);
  }
  bool is_escaped(char c) const noexcept {
    return detail::needs_escape(c) || (c == detail::invalid_mark && form_ == log_form::json);
  }
  /// Escapes the text from `start` on, in place and from its end. The line lies in a mapped file, which may be
  /// truncated meanwhile: then the rest of the text reads as zeros, which need more bytes than were counted. So each
  /// byte is read once, and no write touches a byte that is still to be read.
  void escape(std::size_t start) noexcept {
    std::size_t extra = 0;
    for (std::size_t offset = start; offset < size_; ++offset) {
      if (is_escaped(buffer_[offset])) extra += is_short_escape(buffer_[offset]) ? 1u : 5u;
    }
    std::size_t source = size_;
    size_ += extra;
    if (size_ > room_) return;
    for (std::size_t target = size_; source != start && target > source;) {
      const char c = static_cast<const volatile char&>(buffer_[--source]);
      const std::size_t bytes = !is_escaped(c) ? 1 : is_short_escape(c) ? 2 : 6;
      if (target - source < bytes) {
        return;  // the line is lost with its pages
      }
      if (!is_escaped(c)) {
        buffer_[--target] = c;
      } else if (is_short_escape(c)) {
        buffer_[--target] = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : c;
        buffer_[--target] = '\\';
      } else {
        target -= 6;
        constexpr char digits[] = "0123456789abcdef";
        const char number[] = {'\\', 'u', '0', '0', digits[c >> 4 & 15], digits[c & 15]};
        std::memcpy(buffer_ + target, c == detail::invalid_mark ? "\\ufffd" : number, sizeof number);
      }
    }
  }
  static bool is_short_escape(char c) noexcept { return c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r'; }

  char* buffer_;
  std::size_t room_;
  std::size_t size_ = 0;
  log_form form_;
};

namespace detail {

/// The most bytes that a line has beside its message, if the logger's name has usual length.
inline constexpr std::size_t beside_a_cut_message = 256;

/// Writes a line without fields, whose message is cut where the line would be longer than `room`. Returns its size.
inline std::size_t write_cut_line(char* buffer, std::size_t room, std::uint64_t tick, log_form form,
                                  std::string_view head, fmt::string_view format, fmt::format_args arguments) {
  log_line cut(buffer, room, form);
  cut.begin(head, tick);
  const std::size_t fixed_bytes = cut.size() + beside_a_cut_message;
  cut.message(format, arguments, fixed_bytes < room ? (room - fixed_bytes) / 6 : 0);  // each byte may become six
  cut.field({"cut", true});
  cut.end();
  return std::min(cut.size(), room);
}

/// Writes a line with this head into the journal; cuts its message if the line is too long. Returns false, and writes
/// nothing, in a forked child that inherited the journal, and in a signal handler that finds no lane.
template <class... Arguments>
[[nodiscard]] bool write_log_line(journal& target, log_form form, std::string_view head,
                                  std::initializer_list<log_field> fields, const message_format<Arguments...>& format,
                                  Arguments&... arguments) {
  if (target.is_inherited()) [[unlikely]] {
    return false;
  }
  if constexpr (!(standard_argument<Arguments> && ...)) {
    // The program's own formatters may log, so they are called before this thread takes a part of the journal.
    fmt::memory_buffer text;
    fmt::vformat_to(fmt::appender(text), format.text(), fmt::make_format_args(arguments...));
    const std::string_view message(text.data(), text.size());
    return write_log_line<const std::string_view&>(target, form, head, fields, "{}", message);
  }
  const std::uint64_t number = target.append_with([&](char* buffer, std::size_t room, std::uint64_t tick) {
    log_line line(buffer, room, form);
    line.begin<Arguments...>(head, tick, format, arguments...);
    for (const log_field& next_field : fields) line.field(next_field);
    line.end();
    if (line.size() <= room) [[likely]] {
      return line.size();
    }
    if (const std::size_t longest = target.longest_line(); room < longest) {
      return longest;  // asks for the room that the longest line has
    }
    return write_cut_line(buffer, room, tick, form, head, format.text(), fmt::make_format_args(arguments...));
  });
  return number != 0;
}

}  // namespace detail

/// tarn::io::journal file("app.journal");
/// tarn::io::logger http(file, "http");
/// http.info("served {}", path);
/// http.warning({{"user", name}, {"ms", took}}, "slow: {}", path);  // with fields
///
/// Each line is one line of the journal, so once the call has returned, it survives the death of the process. Nothing
/// is queued and no thread is started. Threads: any number log at once, and change the level. Each line has the time in
/// UTC with microseconds. A line that is longer than the journal's longest line is cut: it has the beginning of its
/// message, no fields, and the field cut=true. Quotes and control characters are escaped. In JSON, each
/// byte that is not part of UTF-8 is written as U+FFFD. A forked child needs a journal and loggers of its own: lines
/// into an inherited one are dropped and counted, and the first one is reported on standard error. Errors:
/// fmt::format_error for an invalid format that is only known at run time; there is then no line. `Floor` removes calls
/// of lower levels when the program is compiled. Cost: one load for a line below the level; a line is formatted
/// directly into the journal, without a lock, and with the system calls of journal::append alone. A message with an
/// argument of a type that the program formats is copied once more: such a formatter may log, too.
template <level Floor = level::trace>
class basic_logger {
 public:
  /// Logs into `target`, which must outlive the logger, lines of at least this level.
  basic_logger(journal& target, std::string name, level lowest_level = level::info, log_form form = log_form::logfmt)
      : target_(target), name_(std::move(name)), level_(lowest_level), form_(form) {
    for (std::size_t severity = 0; severity < heads_.size(); ++severity) {
      heads_[severity].resize(6 * name_.size() + 64);  // each byte of the name may become six
      log_line line(heads_[severity].data(), heads_[severity].size(), form_);
      line.head(static_cast<level>(severity), name_);
      heads_[severity].resize(line.size());
    }
  }
  basic_logger(const basic_logger&) = delete;
  basic_logger& operator=(const basic_logger&) = delete;

  /// Returns the name that each line has.
  const std::string& name() const noexcept { return name_; }
  /// Returns the level below which lines are dropped.
  level min_level() const noexcept { return level_.load(std::memory_order_relaxed); }
  /// Changes that level, for calls from now on.
  void set_min_level(level lowest_level) noexcept { level_.store(lowest_level, std::memory_order_relaxed); }
  /// Returns true when a line of this level is not dropped.
  bool is_enabled(level severity) const noexcept {
    return severity >= Floor && severity < level::off && severity >= min_level();
  }

  /// Returns the number of lines that were dropped because this process is a forked child and the journal is its
  /// parent's, or because a signal handler found no lane (journal::append).
  std::uint64_t dropped_lines() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  /// Logs a line of the level `Level`.
  template <level Level, class... Arguments>
  void log(std::initializer_list<log_field> fields, message_format<Arguments...> format, Arguments&&... arguments) {
    static_assert(Level != level::off, "level::off is for set_min_level(): no line has it");
    if constexpr (Level >= Floor) {
      if (Level >= min_level()) write<Arguments...>(Level, fields, format, arguments...);
    }
  }

  /// Logs a line of a level that is only known at run time. level::off drops it.
  template <class... Arguments>
  void log(level severity, message_format<Arguments...> format, Arguments&&... arguments) {
    log<Arguments...>(severity, {}, format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void log(level severity, std::initializer_list<log_field> fields, message_format<Arguments...> format,
           Arguments&&... arguments) {
    if (is_enabled(severity)) write<Arguments...>(severity, fields, format, arguments...);
  }

  /// Logs a line of the level trace, formatted by {fmt}. Fields may stand before the format.
  template <class... Arguments>
  void trace(message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::trace, Arguments...>({}, format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void trace(std::initializer_list<log_field> fields, message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::trace, Arguments...>(fields, format, std::forward<Arguments>(arguments)...);
  }

  /// Logs a line of the level debug, formatted by {fmt}. Fields may stand before the format.
  template <class... Arguments>
  void debug(message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::debug, Arguments...>({}, format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void debug(std::initializer_list<log_field> fields, message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::debug, Arguments...>(fields, format, std::forward<Arguments>(arguments)...);
  }

  /// Logs a line of the level info, formatted by {fmt}. Fields may stand before the format.
  template <class... Arguments>
  void info(message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::info, Arguments...>({}, format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void info(std::initializer_list<log_field> fields, message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::info, Arguments...>(fields, format, std::forward<Arguments>(arguments)...);
  }

  /// Logs a line of the level warning, formatted by {fmt}. Fields may stand before the format.
  template <class... Arguments>
  void warning(message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::warning, Arguments...>({}, format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void warning(std::initializer_list<log_field> fields, message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::warning, Arguments...>(fields, format, std::forward<Arguments>(arguments)...);
  }

  /// Logs a line of the level error, formatted by {fmt}. Fields may stand before the format.
  template <class... Arguments>
  void error(message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::error, Arguments...>({}, format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void error(std::initializer_list<log_field> fields, message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::error, Arguments...>(fields, format, std::forward<Arguments>(arguments)...);
  }

  /// Logs a line of the level critical, formatted by {fmt}. Fields may stand before the format.
  template <class... Arguments>
  void critical(message_format<Arguments...> format, Arguments&&... arguments) {
    log<level::critical, Arguments...>({}, format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void critical(std::initializer_list<log_field> fields, message_format<Arguments...> format,
                Arguments&&... arguments) {
    log<level::critical, Arguments...>(fields, format, std::forward<Arguments>(arguments)...);
  }

 private:
  template <class... Arguments>
  void write(level severity, std::initializer_list<log_field> fields, const message_format<Arguments...>& format,
             Arguments&... arguments) {
    if (!detail::write_log_line<Arguments...>(target_, form_, heads_[static_cast<std::size_t>(severity)], fields,
                                              format, arguments...)) [[unlikely]] {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      target_.report_dropped_line();
    }
  }

  journal& target_;
  std::string name_;
  std::atomic<level> level_;
  std::atomic<std::uint64_t> dropped_{0};
  log_form form_;
  std::array<std::string, 6> heads_;  // for each level, what stands between the time and the message
};

/// A logger of all levels.
using logger = basic_logger<>;

}  // namespace tarn::io
