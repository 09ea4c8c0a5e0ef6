#include "base/options.hpp"

#include <sys/auxv.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tarn::base {

constinit options process_options;

namespace {

bool is_same_word(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() && (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0);
}

bool starts_with(std::string_view bytes, std::string_view prefix) noexcept {
  return bytes.size() >= prefix.size() && std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Removes the part before the next `mark` from `unread`, and the mark, and returns that part. Without a mark, it
// removes and returns all of `unread`.
std::string_view cut(std::string_view& unread, char mark) noexcept {
  std::size_t length = 0;
  while (length < unread.size() && unread[length] != mark) ++length;
  const std::string_view part(unread.data(), length);
  unread.remove_prefix(length < unread.size() ? length + 1 : length);
  return part;
}

// Removes the decimal digits at the start of `unread` and returns their number. Returns nothing without a digit, or for
// a number above 2^64 - 1.
std::optional<std::uint64_t> take_number(std::string_view& unread) noexcept {
  std::uint64_t number = 0;
  std::size_t digits = 0;
  for (; digits < unread.size() && unread[digits] >= '0' && unread[digits] <= '9'; ++digits) {
    if (__builtin_mul_overflow(number, 10U, &number)) return std::nullopt;
    if (__builtin_add_overflow(number, static_cast<unsigned>(unread[digits] - '0'), &number)) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  unread.remove_prefix(digits);
  return number;
}

std::optional<std::uint64_t> byte_unit(std::string_view suffix) noexcept {
  if (suffix.empty()) return 1;
  std::uint64_t unit = 0;
  switch (lower(suffix[0])) {
    case 'k': unit = std::uint64_t{1} << 10; break;
    case 'm': unit = std::uint64_t{1} << 20; break;
    case 'g': unit = std::uint64_t{1} << 30; break;
    default: return std::nullopt;
  }
  suffix.remove_prefix(1);
  if (suffix.empty() || is_same_word(suffix, "iB")) return unit;
  return std::nullopt;
}

std::optional<std::uint64_t> number_value(const option_info& option, std::string_view value) noexcept {
  const std::optional<std::uint64_t> count = take_number(value);
  const std::optional<std::uint64_t> unit = option.kind == option_kind::bytes ? byte_unit(value)
                                            : value.empty()                   ? std::optional<std::uint64_t>(1)
                                                                              : std::nullopt;
  std::uint64_t number = 0;
  if (!count || !unit || __builtin_mul_overflow(*count, *unit, &number)) return std::nullopt;
  if (number < option.minimum || number > option.maximum) return std::nullopt;
  return number;
}

// Returns the index of `value` in "off|text|json".
std::optional<unsigned> choice_value(const option_info& option, std::string_view value) noexcept {
  std::string_view remainder = option.choices;
  for (unsigned index = 0; !remainder.empty(); ++index) {
    if (is_same_word(cut(remainder, '|'), value)) return index;
  }
  return std::nullopt;
}

std::string_view choice_name(const option_info& option, unsigned index) noexcept {
  std::string_view remainder = option.choices;
  for (; index != 0; --index) cut(remainder, '|');
  return cut(remainder, '|');
}

std::optional<bool> flag_value(std::string_view value) noexcept {
  if (is_same_word(value, "1") || is_same_word(value, "on")) return true;
  if (is_same_word(value, "0") || is_same_word(value, "off")) return false;
  return std::nullopt;
}

void append_reason(text& reason, const option_info& option) noexcept {
  switch (option.kind) {
    case option_kind::milliseconds:
      reason.append("not a number of milliseconds from ")
          .decimal(option.minimum)
          .append(" to ")
          .decimal(option.maximum);
      break;
    case option_kind::number:
      reason.append("not a number from ").decimal(option.minimum).append(" to ").decimal(option.maximum);
      break;
    case option_kind::bytes:
      reason.append("not a number of bytes from ").decimal(option.minimum).append(" to ").decimal(option.maximum);
      reason.append(" (K, M, G, KiB, MiB, GiB may follow)");
      break;
    case option_kind::flag: reason.append("not one of 0, 1, off, on"); break;
    case option_kind::choice: {
      reason.append("not one of ");
      std::string_view remainder = option.choices;
      while (!remainder.empty()) {
        reason.append(cut(remainder, '|'));
        if (!remainder.empty()) reason.append(", ");
      }
      break;
    }
    case option_kind::path: reason.append("longer than ").decimal(option.maximum).append(" bytes"); break;
  }
}

// Returns the edit distance of two short names, in which two exchanged neighbouring letters count as one slip. A `left`
// that is longer than every name gets a distance above every limit.
std::size_t slips_between(std::string_view left, std::string_view right) noexcept {
  if (left.size() > max_option_name_bytes || right.size() > max_option_name_bytes) return max_option_name_bytes;
  unsigned char rows[3][max_option_name_bytes + 1] = {};
  for (std::size_t column = 0; column <= right.size(); ++column) rows[0][column] = static_cast<unsigned char>(column);
  for (std::size_t row = 1; row <= left.size(); ++row) {
    unsigned char* const now = rows[row % 3];
    const unsigned char* const before = rows[(row + 2) % 3];
    const unsigned char* const two_before = rows[(row + 1) % 3];
    now[0] = static_cast<unsigned char>(row);
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const bool is_equal = left[row - 1] == right[column - 1];
      unsigned best = before[column - 1] + (is_equal ? 0U : 1U);
      if (before[column] + 1U < best) best = before[column] + 1U;
      if (now[column - 1] + 1U < best) best = now[column - 1] + 1U;
      if (row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1] &&
          two_before[column - 2] + 1U < best) {
        best = two_before[column - 2] + 1U;
      }
      now[column] = static_cast<unsigned char>(best);
    }
  }
  return rows[left.size() % 3][right.size()];
}

// Calls `use` with the field of an option, and returns what that returns.
template <class Options, class Use>
auto with_field(Options& values, option_id id, Use use) noexcept {
  switch (id) {
    case option_id::purge_delay_ms: return use(values.purge_delay_ms);
    case option_id::stats: return use(values.stats);
    case option_id::stats_file: return use(values.stats_file);
    case option_id::guard: return use(values.uses_guard);
    case option_id::thp: return use(values.thp);
    case option_id::limit: return use(values.limit);
    case option_id::initial: return use(values.initial);
    case option_id::increment: return use(values.increment);
    case option_id::background_purge: return use(values.purges_in_background);
    case option_id::sample_guards: return use(values.sample_guards);
    case option_id::harden: return use(values.is_hardened);
    case option_id::thread_heaps: return use(values.thread_heaps);
  }
  __builtin_unreachable();
}

// Sets a field from a well-formed value, and returns whether it is one.
template <std::size_t Size>
bool parse_field(char (&field)[Size], const option_info&, std::string_view value) noexcept {
  if (value.size() >= Size) return false;
  if (!value.empty()) std::memcpy(field, value.data(), value.size());
  field[value.size()] = '\0';
  return true;
}
template <class Field>
bool parse_field(Field& field, const option_info& option, std::string_view value) noexcept {
  const auto set = [&](const auto& parsed) {
    if (parsed) field = static_cast<Field>(*parsed);
    return parsed.has_value();
  };
  if constexpr (std::is_same_v<Field, bool>) {
    return set(flag_value(value));
  } else if constexpr (std::is_enum_v<Field>) {
    return set(choice_value(option, value));
  } else {
    return set(number_value(option, value));
  }
}

template <class Field>
void append_field(text& line, const option_info& option, const Field& field) noexcept {
  if constexpr (std::is_array_v<Field>) {
    line.append(std::string_view(field));
  } else if constexpr (std::is_same_v<Field, bool>) {
    line.append(field ? '1' : '0');
  } else if constexpr (std::is_enum_v<Field>) {
    line.append(choice_name(option, static_cast<unsigned>(field)));
  } else {
    line.decimal(field);
  }
}

using report_line = text_buffer<512>;

void report_unknown(std::string_view environment_entry_name, std::string_view lower_name,
                    report_function report) noexcept {
  report_line line;
  line.append("tarn: unknown option ").append_escaped(environment_entry_name);
  if (const auto suggestion = nearest_option(lower_name)) {
    line.append("; did you mean ").append(environment_name(info(*suggestion)).view()).append('?');
  }
  line.append('\n');
  report(line.view());
}

void report_malformed(const options& current, const option_info& option, std::string_view value,
                      std::string_view reason, report_function report) noexcept {
  report_line line;
  line.append("tarn: option ").append(environment_name(option).view()).append('=').append_escaped(value);
  line.append(": ").append(reason).append("; ");
  const std::size_t before = line.view().size();
  append_value(line, current, option.id);
  if (line.view().size() == before) line.append("standard error");  // only stats_file has an empty default
  line.append(" is used\n");
  report(line.view());
}

}  // namespace

std::optional<option_id> find_option(std::string_view name) noexcept {
  for (const option_info& option : option_table) {
    if (is_same_word(option.name, name)) return option.id;
  }
  return std::nullopt;
}

std::optional<option_id> nearest_option(std::string_view name) noexcept {
  std::optional<option_id> nearest;
  std::size_t fewest = max_option_name_bytes;
  for (const option_info& option : option_table) {
    const std::size_t slips = slips_between(name, option.name);
    const std::size_t allowed = option.name.size() < 6 ? 1 : option.name.size() / 3;
    if (slips <= allowed && slips < fewest) {
      fewest = slips;
      nearest = option.id;
    }
  }
  return nearest;
}

bool parse_option(options& target, option_id id, std::string_view value, text& reason) noexcept {
  const option_info& option = info(id);
  const bool is_set = with_field(target, id, [&](auto& field) { return parse_field(field, option, value); });
  if (!is_set) append_reason(reason, option);
  return is_set;
}

void append_value(text& line, const options& source, option_id id) noexcept {
  with_field(source, id, [&](const auto& field) { append_field(line, info(id), field); });
}

void load_from_environment(options& target, const char* const* environment, report_function report) noexcept {
  if (environment == nullptr || ::getauxval(AT_SECURE) != 0) return;
  bool was_set[option_count] = {};
  for (; *environment != nullptr; ++environment) {
    std::string_view value(*environment);
    if (!starts_with(value, environment_name::prefix)) continue;
    const std::string_view variable = cut(value, '=');
    char lower_name[max_option_name_bytes];
    std::size_t size = 0;
    for (std::size_t index = environment_name::prefix.size(); index < variable.size() && size < sizeof lower_name;
         ++index)
      lower_name[size++] = lower(variable[index]);
    const std::string_view name(lower_name, size);
    const auto id = find_option(name);
    // The names of variables are upper case: comparing the whole name refuses TARN_Guard.
    if (!id || !is_same_word(environment_name(info(*id)).view(), variable)) {
      report_unknown(variable, name, report);
      continue;
    }
    bool& is_set = was_set[static_cast<std::size_t>(*id)];
    if (is_set) continue;  // of equal variables the first one counts, as in getenv()
    is_set = true;
    text_buffer<128> reason;
    if (!parse_option(target, *id, value, reason)) report_malformed(target, info(*id), value, reason.view(), report);
  }
}

}  // namespace tarn::base
