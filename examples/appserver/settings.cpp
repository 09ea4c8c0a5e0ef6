#include "settings.hpp"

#include <cerrno>
#include <concepts>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include <toml++/toml.h>

namespace appserver {

namespace {

/// One table of the file; its reader names each key that the table may have.
class section {
 public:
  section(const std::string& file, const toml::table& all, std::string_view name)
      : file_(file), name_(name), table_(all[name].as_table()) {
    if (const toml::node* const found = all.get(name); found != nullptr && table_ == nullptr) {
      fail(*found, std::string(name) + " is not a table");
    }
  }

  void text(std::string_view key, std::string& into) {
    if (const toml::node* const found = find(key)) {
      if (!found->is_string()) {
        fail(*found, full(key) + " is not a text");
      }
      into = found->as_string()->get();
    }
  }
  template <std::integral Number>
  void number(std::string_view key, Number& into, std::int64_t least, std::int64_t most) {
    if (const toml::node* const found = find(key)) {
      if (!found->is_integer()) {
        fail(*found, full(key) + " is not a whole number");
      }
      const std::int64_t value = found->as_integer()->get();
      if (value < least || value > most) {
        fail(*found, full(key) + " is " + std::to_string(value) + ", not from " + std::to_string(least) + " to " +
                         std::to_string(most));
      }
      into = static_cast<Number>(value);
    }
  }
  template <class Rep, class Period>
  void time(std::string_view key, std::chrono::duration<Rep, Period>& into, std::int64_t least, std::int64_t most) {
    std::int64_t count = into.count();
    number(key, count, least, most);
    into = std::chrono::duration<Rep, Period>(count);
  }
  /// Called after the last key: throws if the table has another one.
  void end() const {
    if (table_ != nullptr) {
      for (const auto& [key, value] : *table_) {
        if (known_.find(" " + std::string(key.str()) + " ") == std::string::npos) {
          fail(key.source(), full(key.str()) + " is not a setting; there are" + known_);
        }
      }
    }
  }

 private:
  const toml::node* find(std::string_view key) {
    known_.append(key).append(" ");
    return table_ != nullptr ? table_->get(key) : nullptr;
  }
  std::string full(std::string_view key) const { return name_ + "." + std::string(key); }
  [[noreturn]] void fail(const toml::node& at, const std::string& what) const { fail(at.source(), what); }
  [[noreturn]] void fail(const toml::source_region& at, const std::string& what) const {
    throw configuration_error(file_ + ":" + std::to_string(at.begin.line) + ":" + std::to_string(at.begin.column) +
                              ": " + what);
  }

  std::string file_;
  std::string name_;
  const toml::table* table_;
  std::string known_ = " ";
};

toml::table parse(const std::string& file) {
  std::ifstream text(file);
  if (!text) {
    throw configuration_error(file + ": cannot be opened: " + std::strerror(errno));
  }
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw configuration_error(file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
                              std::string(error.description()));
  }
}

}  // namespace

configuration load(const std::string& file) {
  constexpr std::int64_t much = 1 << 30;
  const toml::table all = parse(file);
  configuration made;

  section server(file, all, "server");
  server.text("address", made.server.address);
  server.number("port", made.server.port, 0, 65'535);
  server.number("workers", made.server.workers, 1, 1'024);
  server.number("processes", made.server.processes, 0, 1'024);
  server.time("stop_after_ms", made.server.stop_after, 0, 600'000);
  server.time("idle_ms", made.server.idle, 1, 3'600'000);
  server.time("request_ms", made.server.request, 1, 3'600'000);
  server.number("connections", made.server.connections, 1, 1'000'000);
  server.number("header_bytes", made.server.header, 256, 1 << 20);
  server.number("body_bytes", made.server.body, 0, much);
  server.number("heap_bytes", made.server.heap, 0, much);
  server.number("arena_bytes", made.server.arena, 1'024, much);
  server.number("memory_bytes", made.server.memory, 0, std::int64_t{1} << 40);
  server.text("access_log", made.server.access_log);
  server.number("access_log_bytes", made.server.access_log_size, 1 << 20, std::int64_t{1} << 36);
  server.end();

  section site(file, all, "site");
  site.text("title", made.site.title);
  site.text("footer", made.site.footer);
  site.number("rows", made.site.rows, 1, 10'000'000);
  site.number("sessions", made.site.sessions, 0, 100'000'000);
  site.time("session_seconds", made.site.session, 1, 31'536'000);
  site.end();

  for (const auto& [key, value] : all) {
    if (key.str() != "server" && key.str() != "site") {
      throw configuration_error(file + ":" + std::to_string(key.source().begin.line) + ":" +
                                std::to_string(key.source().begin.column) + ": " + std::string(key.str()) +
                                " is not a setting; there are [server] and [site]");
    }
  }
  return made;
}

}  // namespace appserver
