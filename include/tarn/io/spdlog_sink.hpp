// A sink of spdlog over a journal: lines of existing code survive the death of the process. Only this header needs
// spdlog, and a spdlog that uses the {fmt} of the system.
#pragma once

#include <spdlog/sinks/sink.h>
#include <tarn/io/log.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tarn::io {

/// tarn::io::journal file("app.journal");
/// spdlog::set_default_logger(std::make_shared<spdlog::logger>("app", std::make_shared<tarn::io::spdlog_sink>(file)));
///
/// Writes each line in the form of a tarn::io::logger, so `tarn journal tail --level --since --json` reads it. A line
/// survives the death of the process once the call of spdlog has returned, unless the logger of spdlog is asynchronous.
/// Threads: any number, without a lock. A pattern or a formatter of spdlog has no effect. Errors: none of its own; a
/// line that is too long is cut, and lines of a forked child are dropped and counted. Cost: that of a line of
/// tarn::io::logger, and the formatting by spdlog.
class spdlog_sink final : public spdlog::sinks::sink {
 public:
  /// Writes into `target`, which must outlive the sink.
  explicit spdlog_sink(journal& target, log_form form = log_form::logfmt) noexcept : target_(target), form_(form) {}

  /// Writes a line; spdlog calls it, in the thread that logs.
  void log(const spdlog::details::log_msg& message) override {
    static_assert(static_cast<int>(io::level::off) == SPDLOG_LEVEL_OFF, "the levels of both have the same numbers");
    char head[512];
    log_line line(head, sizeof head, form_);
    // The head has room for a name each of whose bytes becomes six.
    line.head(static_cast<io::level>(message.level),
              {message.logger_name.data(), std::min(message.logger_name.size(), max_name)});
    if (!detail::write_log_line<const fmt::string_view&>(target_, form_, {head, line.size()}, {}, "{}",
                                                         message.payload)) [[unlikely]] {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      target_.report_dropped_line();
    }
  }
  /// Returns the number of lines that were dropped because this process is a forked child and the journal is its
  /// parent's.
  std::uint64_t dropped_lines() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  /// Does nothing: no line is buffered.
  void flush() override {}
  /// Has no effect.
  void set_pattern(const std::string&) override {}
  /// Has no effect.
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  static constexpr std::size_t max_name = 64;

  journal& target_;
  std::atomic<std::uint64_t> dropped_{0};
  log_form form_;
};

}  // namespace tarn::io
