#include "profiler/cli/log_lines.hpp"

#include <fmt/format.h>
#include <tarn/io/log.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "profiler/base/failure.hpp"

namespace tarn::command {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t levels = static_cast<std::size_t>(io::level::off);
constexpr std::string_view time_pattern = "0000-00-00T00:00:00.000000Z";

std::optional<std::size_t> level_of(std::string_view name) {
  for (std::size_t level = 0; level < levels; ++level) {
    if (io::level_name(static_cast<io::level>(level)) == name) return level;
  }
  return std::nullopt;
}

// Returns whether the text is the beginning of a time: digits where the pattern has them, else equal to it.
bool begins_time(std::string_view text) {
  return text.size() <= time_pattern.size() &&
         std::equal(text.begin(), text.end(), time_pattern.begin(), [](char letter, char expected) {
           return expected == '0' ? letter >= '0' && letter <= '9' : letter == expected;
         });
}
bool is_time(std::string_view text) { return text.size() == time_pattern.size() && begins_time(text); }

std::string json_text(std::string_view text) {
  return ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// Returns a value without quotes as JSON. Numbers and booleans that JSON would write in the same form stay unchanged;
// everything else becomes a string.
std::string json_of_bare(std::string_view text) {
  const ordered_json value = ordered_json::parse(text, nullptr, false);
  const bool is_simple = value.is_number() || value.is_boolean();
  return is_simple && value.dump() == text ? std::string(text) : json_text(text);
}

// Takes a value in quotes from the front of `unread`, which begins with the quote. Returns nothing if it does not end.
std::optional<std::string> take_quoted(std::string_view& unread) {
  std::string value;
  for (std::size_t index = 1; index < unread.size(); ++index) {
    char c = unread[index];
    if (c == '"') {
      unread.remove_prefix(index + 1);
      return value;
    }
    if (c == '\\') {
      if (++index == unread.size()) return std::nullopt;
      c = unread[index];
      if (c == 'u') {
        unsigned code = 0;
        const std::string_view digits = unread.substr(index + 1, 4);
        const auto [end, error] = std::from_chars(digits.begin(), digits.end(), code, 16);
        if (error != std::errc() || end != digits.end() || digits.size() != 4 || code >= ' ') return std::nullopt;
        c = static_cast<char>(code);
        index += 4;
      } else {
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
    }
    value += c;
  }
  return std::nullopt;
}

std::optional<log_record> parse_logfmt(std::string_view unread) {
  log_record record;
  while (!unread.empty()) {
    const std::size_t name_size =
        static_cast<std::size_t>(std::find_if_not(unread.begin(), unread.end(), is_name_character) - unread.begin());
    if (name_size == 0 || name_size == unread.size() || unread[name_size] != '=') return std::nullopt;
    const std::string name(unread.substr(0, name_size));
    unread.remove_prefix(name_size + 1);
    const std::size_t index = record.members.size();
    std::string value;
    if (!unread.empty() && unread.front() == '"') {
      const std::optional<std::string> quoted = take_quoted(unread);
      if (!quoted) return std::nullopt;
      value = json_text(*quoted);
    } else {
      const std::string_view bare = unread.substr(0, unread.find(' '));
      unread.remove_prefix(bare.size());
      value = index < 4 ? json_text(bare) : json_of_bare(bare);  // the first four are texts
      if (index == 0 && name == "time" && is_time(bare)) record.time = bare;
      if (index == 1) {
        const std::optional<std::size_t> level = level_of(bare);
        if (name != "level" || !level) return std::nullopt;
        record.level = *level;
      }
    }
    if (record.time.empty() || (index == 2 && name != "logger") || (index == 3 && name != "msg")) return std::nullopt;
    record.members.emplace_back(name, std::move(value));
    if (unread.empty()) break;
    if (unread.front() != ' ') return std::nullopt;
    unread.remove_prefix(1);
  }
  return record.members.size() < 4 ? std::nullopt : std::optional(std::move(record));
}

std::optional<log_record> parse_json(std::string_view line) {
  const ordered_json object = ordered_json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("time") || !object.contains("level")) return std::nullopt;
  const ordered_json &time = object["time"], &level = object["level"];
  if (!time.is_string() || !is_time(time.get<std::string>()) || !level.is_string()) return std::nullopt;
  const std::optional<std::size_t> index = level_of(level.get<std::string>());
  if (!index) return std::nullopt;
  log_record record{time.get<std::string>(), *index, {}};
  for (const auto& [name, value] : object.items()) record.members.emplace_back(name, value.dump());
  return record;
}

// Returns a time of a logger as OTLP has it.
std::string unix_nanoseconds(const std::string& time) {
  std::tm parts{};
  const char* const fraction = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S.", &parts);
  std::uint64_t micros = 0;
  if (fraction != nullptr) std::from_chars(fraction, time.c_str() + time.size(), micros);
  return std::to_string((static_cast<std::uint64_t>(::timegm(&parts)) * 1'000'000 + micros) * 1000);
}

ordered_json otlp_attribute(std::string_view name, const ordered_json& value);

// Returns an AnyValue: the mapping of protobuf to JSON writes 64-bit numbers as texts.
ordered_json otlp_value(const ordered_json& value) {
  if (value.is_boolean()) return {{"boolValue", value}};
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return {{"stringValue", value.dump()}};
  if (value.is_number_integer()) return {{"intValue", value.dump()}};
  if (value.is_number()) return {{"doubleValue", value}};
  if (value.is_string()) return {{"stringValue", value}};
  if (value.is_null()) return ordered_json::object();
  ordered_json values = ordered_json::array();
  for (const auto& [name, member] : value.items()) {
    values.push_back(value.is_array() ? otlp_value(member) : otlp_attribute(name, member));
  }
  return {{value.is_array() ? "arrayValue" : "kvlistValue", {{"values", std::move(values)}}}};
}
ordered_json otlp_attribute(std::string_view name, const ordered_json& value) {
  return {{"key", name}, {"value", otlp_value(value)}};
}

// Sets an attribute. Readers may drop a record that has two attributes of one name, so the newer one replaces it.
void set_attribute(ordered_json& attributes, std::string_view name, const ordered_json& value) {
  const auto position = std::find_if(attributes.begin(), attributes.end(),
                                     [&](const ordered_json& attribute) { return attribute["key"] == name; });
  if (position == attributes.end()) {
    attributes.push_back(otlp_attribute(name, value));
  } else {
    *position = otlp_attribute(name, value);
  }
}

// Returns a LogsData with one record, as opentelemetry-proto's logs.proto has it.
std::string otlp_line(const std::string& service, std::uint64_t number, std::string_view line,
                      const std::optional<log_record>& record) {
  constexpr unsigned severities[] = {1, 5, 9, 13, 17, 21};  // SEVERITY_NUMBER_TRACE … SEVERITY_NUMBER_FATAL
  static_assert(std::size(severities) == levels);
  constexpr std::string_view line_attribute = "tarn.journal.line";
  ordered_json scope = ordered_json::object(), written,
               attributes = ordered_json::array({otlp_attribute(line_attribute, number)});
  if (record) {
    written["timeUnixNano"] = unix_nanoseconds(record->time);
    written["severityNumber"] = severities[record->level];
    written["severityText"] = io::level_name(static_cast<io::level>(record->level));
    std::set<std::string_view> head = {"time", "level", "logger", "msg"};  // a field may have such a name, too
    for (const auto& [name, text] : record->members) {
      const ordered_json value = ordered_json::parse(text);
      if (head.erase(name) == 0 || (name == "logger" && !value.is_string())) {
        if (name != line_attribute) set_attribute(attributes, name, value);
      } else if (name == "msg") {
        written["body"] = otlp_value(value);
      } else if (name == "logger") {
        scope["name"] = value;
      }
    }
  } else {
    written["body"] = otlp_value(line);
  }
  written["attributes"] = std::move(attributes);
  const ordered_json resource = {{"attributes", ordered_json::array({otlp_attribute("service.name", service)})}};
  const ordered_json scope_logs = {{"scope", scope}, {"logRecords", ordered_json::array({written})}};
  const ordered_json resource_logs = {{"resource", resource}, {"scopeLogs", ordered_json::array({scope_logs})}};
  return ordered_json{{"resourceLogs", ordered_json::array({resource_logs})}}.dump(
      -1, ' ', false, ordered_json::error_handler_t::replace);
}

[[noreturn]] void refuse_since(const std::string& text) {
  fail(exit_code::usage,
       "--since {}: is neither a time in UTC (2026-11-22T10:00:00Z, 2026-11-22) nor an age (90s, 10m, 2h, 7d)", text);
}

std::string time_text(std::time_t seconds) {
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000000Z", &parts)};
}

}  // namespace

std::optional<log_record> parse_log_line(std::string_view line) {
  if (line.starts_with("time=")) return parse_logfmt(line);
  if (line.starts_with("{\"time\":")) return parse_json(line);
  return std::nullopt;
}

std::optional<std::string> log_selection::format_line(std::uint64_t number, std::string_view line) const {
  std::optional<log_record> record;
  if (is_filter() || as_json || otlp_service) record = parse_log_line(line);
  if (is_filter()) {
    if (!record && !includes_other_lines) return std::nullopt;
    if (record && (record->time < since || (level && record->level < *level))) return std::nullopt;
  }
  if (otlp_service) return otlp_line(*otlp_service, number, line, record);
  if (!as_json) return has_numbers ? fmt::format("{}\t{}", number, line) : std::string(line);
  std::string object = "{";
  if (has_numbers) object += fmt::format("\"number\":{},", number);
  if (!record) return object + "\"line\":" + json_text(line) + "}";
  if (line.front() == '{') return object.append(line.substr(1));  // it is an object already
  for (const auto& [name, value] : record->members) object += json_text(name) + ":" + value + ",";
  object.back() = '}';
  return object;
}

std::string parse_since(const std::string& text) {
  std::uint64_t count = 0;
  const char* const text_end = text.data() + text.size();
  if (const auto [end, error] = std::from_chars(text.data(), text_end, count);
      error == std::errc() && text_end - end == 1) {
    constexpr std::string_view units = "smhd";
    constexpr std::time_t seconds[] = {1, 60, 3600, 86400};
    const std::size_t unit = units.find(*end);
    constexpr std::uint64_t largest_count = 1'000'000'000;  // of any unit; so long ago there was no log
    if (unit == units.npos || count > largest_count) refuse_since(text);
    return time_text(std::max<std::time_t>(0, std::time(nullptr) - static_cast<std::time_t>(count) * seconds[unit]));
  }
  std::string time = text.ends_with('Z') ? text.substr(0, text.size() - 1) : text;
  const std::size_t size = time.size();
  if (!begins_time(time) || (size != 10 && size != 16 && size != 19 && size < 21)) refuse_since(text);
  constexpr std::string_view start = "0000-01-01T00:00:00.000000Z";
  time += start.substr(size);
  std::tm parts{};
  const char* const end = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::tm written = parts;
  // A day that the month does not have becomes a day of the next one.
  if (end == nullptr || ::timegm(&parts) == -1 || parts.tm_mday != written.tm_mday) refuse_since(text);
  return time;
}

std::size_t parse_level(const std::string& name) {
  if (const std::optional<std::size_t> level = level_of(name)) return *level;
  std::string names;
  for (std::size_t level = 0; level < levels; ++level) {
    names += (level == 0 ? "" : ", ") + std::string(io::level_name(static_cast<io::level>(level)));
  }
  fail(exit_code::usage, "--level {}: is not one of {}", name, names);
}

}  // namespace tarn::command
