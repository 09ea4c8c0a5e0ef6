#include "settings.hpp"

#include <cerrno>
#include <concepts>
#include <cstring>
#include <fstream>
#include <string_view>

#include <toml++/toml.h>

namespace appserver {

namespace {

/// One table of the file; its reader names each key that the table may have.
class section {
 public:
  section(const std::string& file, const toml::table& root, std::string_view name)
      : file_(file), name_(name), table_(root[name].as_table()) {
    if (const toml::node* const node = root.get(name); node != nullptr && table_ == nullptr) {
      fail(*node, std::string(name) + " is not a table");
    }
  }

  void text(std::string_view key, std::string& value) {
    if (const toml::node* const entry = find(key)) {
      if (!entry->is_string()) {
        fail(*entry, full(key) + " is not a text");
      }
      value = entry->as_string()->get();
    }
  }
  template <std::integral Number>
  void number(std::string_view key, Number& value, std::int64_t minimum, std::int64_t maximum) {
    if (const toml::node* const entry = find(key)) {
      if (!entry->is_integer()) {
        fail(*entry, full(key) + " is not a whole number");
      }
      const std::int64_t number_in_file = entry->as_integer()->get();
      if (number_in_file < minimum || number_in_file > maximum) {
        fail(*entry, full(key) + " is " + std::to_string(number_in_file) + ", not from " + std::to_string(minimum) +
                         " to " + std::to_string(maximum));
      }
      value = static_cast<Number>(number_in_file);
    }
  }
  template <class Rep, class Period>
  void time(std::string_view key, std::chrono::duration<Rep, Period>& value, std::int64_t minimum,
            std::int64_t maximum) {
    std::int64_t count = value.count();
    number(key, count, minimum, maximum);
    value = std::chrono::duration<Rep, Period>(count);
  }
  /// Called after the last key: throws if the table has another one.
  void end() const {
    if (table_ != nullptr) {
      for (const auto& [key, value] : *table_) {
        if (known_keys_.find(" " + std::string(key.str()) + " ") == std::string::npos) {
          fail(key.source(), full(key.str()) + " is not a setting; there are" + known_keys_);
        }
      }
    }
  }

 private:
  const toml::node* find(std::string_view key) {
    known_keys_.append(key).append(" ");
    return table_ != nullptr ? table_->get(key) : nullptr;
  }
  std::string full(std::string_view key) const { return name_ + "." + std::string(key); }
  [[noreturn]] void fail(const toml::node& position, const std::string& problem) const {
    fail(position.source(), problem);
  }
  [[noreturn]] void fail(const toml::source_region& position, const std::string& problem) const {
    throw configuration_error(file_ + ":" + std::to_string(position.begin.line) + ":" +
                              std::to_string(position.begin.column) + ": " + problem);
  }

  std::string file_;
  std::string name_;
  const toml::table* table_;
  std::string known_keys_ = " ";
};

toml::table parse(const std::string& file) {
  std::ifstream text(file);
  if (!text) {
    throw configuration_error(file + ": cannot be opened: " + std::strerror(errno));
  }
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const toml::source_position position = error.source().begin;
    throw configuration_error(file + ":" + std::to_string(position.line) + ":" + std::to_string(position.column) +
                              ": " + std::string(error.description()));
  }
}

}  // namespace

configuration load(const std::string& file) {
  constexpr std::int64_t huge = 1 << 30;
  const toml::table root = parse(file);
  configuration loaded;

  section server(file, root, "server");
  server.text("address", loaded.server.address);
  server.number("port", loaded.server.port, 0, 65'535);
  server.number("workers", loaded.server.workers, 1, 1'024);
  server.number("processes", loaded.server.processes, 0, 1'024);
  server.time("stop_timeout_ms", loaded.server.stop_timeout, 0, 600'000);
  server.time("idle_ms", loaded.server.idle, 1, 3'600'000);
  server.time("request_ms", loaded.server.request, 1, 3'600'000);
  server.number("connections", loaded.server.connections, 1, 1'000'000);
  server.number("header_bytes", loaded.server.header, 256, 1 << 20);
  server.number("body_bytes", loaded.server.body, 0, huge);
  server.number("heap_bytes", loaded.server.heap, 0, huge);
  server.number("arena_bytes", loaded.server.arena, 1'024, huge);
  server.number("memory_bytes", loaded.server.memory, 0, std::int64_t{1} << 40);
  server.text("access_log", loaded.server.access_log);
  server.number("access_log_bytes", loaded.server.access_log_size, 1 << 20, std::int64_t{1} << 36);
  server.end();

  section site(file, root, "site");
  site.text("title", loaded.site.title);
  site.text("footer", loaded.site.footer);
  site.number("rows", loaded.site.rows, 1, 10'000'000);
  site.number("sessions", loaded.site.sessions, 0, 100'000'000);
  site.time("session_seconds", loaded.site.session, 1, 31'536'000);
  site.end();

  for (const auto& [key, value] : root) {
    if (key.str() != "server" && key.str() != "site") {
      throw configuration_error(file + ":" + std::to_string(key.source().begin.line) + ":" +
                                std::to_string(key.source().begin.column) + ": " + std::string(key.str()) +
                                " is not a setting; there are [server] and [site]");
    }
  }
  return loaded;
}

}  // namespace appserver
