// Measures the writer's cost of a log line of about a hundred bytes. The names of forms say which of them lose lines
// in a crash; kills.hpp tests that journals lose none.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <tarn/io.hpp>
#include <tarn/io/format.hpp>
#include <tarn/io/log.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "settings.hpp"

#if BENCH_SPDLOG
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <tarn/io/spdlog_sink.hpp>
#endif

namespace bench_io {

#define BENCH_LINE "12:00:00 INFO order {} of customer {} is {}, and the rest of this line is the same for all of them"
#define BENCH_MESSAGE "order {} of customer {} is {}, and the rest of this line is the same for all of them"
#define BENCH_LINE_C \
  "12:00:00 INFO order %zu of customer %zu is %s, and the rest of this line is the same for all of them\n"

inline group log_group(const settings& parameters, const folder& work_folder) {
  group rows{"a line of a log", "ns a line, by thread", 1, {}, {}};
  const std::size_t lines = parameters.lines;
  const double units = static_cast<double>(lines);
  const std::string prepared_line(100, 'x');
  const auto add = [&](std::string name, std::function<outcome()> run) {
    rows.forms.push_back({std::move(name), std::move(run), false});
  };
  const auto open_empty = [&work_folder](const char* name) {
    return open(work_folder.path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
  };

  add("fmt + write(2)", [=] {
    const int file = open_empty("write");
    const outcome measured = timed(
        [&] {
          char line[256];
          std::uint64_t sum = 0;
          for (std::size_t number = 0; number < lines; ++number) {
            const auto formatted = fmt::format_to_n(line, sizeof line, BENCH_LINE "\n", number, number * 3, "paid");
            sum += static_cast<std::uint64_t>(write(file, line, formatted.size));
          }
          return sum;
        },
        units);
    close(file);
    return measured;
  });
  add("write(2) of a ready line", [=] {
    const int file = open_empty("write");
    const outcome measured = timed(
        [&] {
          std::uint64_t sum = 0;
          for (std::size_t number = 0; number < lines; ++number)
            sum += static_cast<std::uint64_t>(write(file, prepared_line.data(), prepared_line.size()));
          return sum;
        },
        units);
    close(file);
    return measured;
  });
  add("fprintf (loses the last lines)", [=, &work_folder] {
    FILE* const file = fopen(work_folder.path("stdio").c_str(), "w");
    const outcome measured = timed(
        [&] {
          for (std::size_t number = 0; number < lines; ++number)
            fprintf(file, BENCH_LINE_C, number, number * 3, "paid");
          return 0;
        },
        units);
    fclose(file);
    return measured;
  });
#if BENCH_SPDLOG
  add("spdlog file sink (loses the last lines)", [=, &work_folder] {
    auto log = std::make_shared<spdlog::logger>(
        "bench", std::make_shared<spdlog::sinks::basic_file_sink_mt>(work_folder.path("spdlog"), true));
    log->set_pattern("%v");
    return timed(
        [&] {
          for (std::size_t index = 0; index < lines; ++index) log->info(BENCH_LINE, index, index * 3, "paid");
          return 0;
        },
        units);
  });
#endif
  add("tarn writer, formatted (loses the last lines)", [=, &work_folder] {
    tarn::io::writer output(work_folder.path("writer"));
    return timed(
        [&] {
          for (std::size_t number = 0; number < lines; ++number)
            tarn::io::print_line(output, BENCH_LINE, number, number * 3, "paid");
          return 0;
        },
        units);
  });
  // The journals live as long as the bench, so a round does not start at the beginning of their file.
  const auto journal =
      std::make_shared<tarn::io::journal>(work_folder.path("journal"), tarn::io::journal_options{.bytes = 16 << 20});
  add("formatting alone, fmt", [=] {
    return timed(
        [&] {
          char line[256];
          std::uint64_t sum = 0;
          for (std::size_t number = 0; number < lines; ++number) {
            sum += fmt::format_to_n(line, sizeof line, BENCH_LINE, number, number * 3, "paid").size;
            asm volatile("" : : "r"(line) : "memory");
          }
          return sum;
        },
        units);
  });
  add("tarn journal, formatted", [=] {
    return timed(
        [&] {
          std::uint64_t sum = 0;
          for (std::size_t number = 0; number < lines; ++number)
            sum += tarn::io::print_line(*journal, BENCH_LINE, number, number * 3, "paid");
          return sum;
        },
        units);
  });
  add("tarn journal, ready", [=] {
    return timed(
        [&] {
          std::uint64_t sum = 0;
          for (std::size_t number = 0; number < lines; ++number) sum += journal->append(prepared_line);
          return sum;
        },
        units);
  });
  add("tarn journal, ready, 2 threads", [=] {
    return timed_threads(
        2,
        [&](unsigned) {
          for (std::size_t number = 0; number < lines; ++number) journal->append(prepared_line);
        },
        units);
  });
  add("tarn journal, formatted, 2 threads", [=] {
    return timed_threads(
        2,
        [&](unsigned) {
          for (std::size_t number = 0; number < lines; ++number)
            tarn::io::print_line(*journal, BENCH_LINE, number, number * 3, "paid");
        },
        units);
  });
  // Lines with time, level and name.
  const auto logger = std::make_shared<tarn::io::logger>(*journal, "bench");
  // It holds the journal, whose other forms --form may have left out.
  const auto log_all = [lines, journal](auto& log) {
    for (std::size_t number = 0; number < lines; ++number) log.info(BENCH_MESSAGE, number, number * 3, "paid");
  };
  add("tarn logger", [=] { return timed([&] { return log_all(*logger), 0; }, units); });
  add("tarn logger, 2 threads", [=] {
    return timed_threads(
        2, [&](unsigned) { log_all(*logger); }, units);
  });
#if BENCH_SPDLOG
  const auto file_sink = [&work_folder] {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(work_folder.path("spdlog"), true);
  };
  add("spdlog, sync (loses the last lines)", [=] {
    spdlog::logger log("bench", file_sink());
    return timed([&] { return log_all(log), 0; }, units);
  });
  add("spdlog, sync, 2 threads", [=] {
    spdlog::logger log("bench", file_sink());
    return timed_threads(
        2, [&](unsigned) { log_all(log); }, units);
  });
  add("spdlog, async, until all is written", [=] {
    auto pool = std::make_shared<spdlog::details::thread_pool>(8192, 1);
    auto log = std::make_shared<spdlog::async_logger>("bench", file_sink(), pool);
    return timed(
        [&] {
          log_all(*log);
          log.reset();
          pool.reset();  // waits for its thread
          return 0;
        },
        units);
  });
  add("spdlog over a tarn journal", [=] {
    spdlog::logger log("bench", std::make_shared<tarn::io::spdlog_sink>(*journal));
    return timed([&] { return log_all(log), 0; }, units);
  });
#endif
  rows.goals = {
      {"two threads over one, logger", "tarn logger, 2 threads", "tarn logger", 1.1, true, true},
      {"fmt + write over a ready line", "fmt + write(2)", "tarn journal, ready", 8, false},
      {"fmt + write over a formatted line", "fmt + write(2)", "tarn journal, formatted", 4, false},
      {"two threads over one, ready", "tarn journal, ready, 2 threads", "tarn journal, ready", 1.5, true, true},
      {"two threads over one, formatted", "tarn journal, formatted, 2 threads", "tarn journal, formatted", 1.5, true,
       true}};
#if BENCH_SPDLOG
  rows.goals.push_back({"logger over spdlog, sync", "tarn logger", "spdlog, sync (loses the last lines)", 0.35, true});
  rows.goals.push_back(
      {"spdlog over a formatted line", "spdlog file sink (loses the last lines)", "tarn journal, formatted", 1, false});
#endif
  return rows;
}

}  // namespace bench_io
