// Tests appends by signal handlers that interrupt an append: no line is lost unnoticed, and no thread waits for a lane
// that it has itself.
#include <tarn/io/journal.hpp>
#include <tarn/io/journal_reader.hpp>
#include <tarn/io/log.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"
#include "unit/io/journal_fixture.hpp"

namespace {

using namespace tarn::io;
using support::ending;
using support::in_child;

// A test that hangs is ended by this signal.
constexpr unsigned patience_s = 20;

journal* target = nullptr;
logger* target_logger = nullptr;
std::atomic<int> appended_lines{0};
std::atomic<int> arrived{0};
int expected_arrivals = 0;

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_NODEFER;
  sigaction(signal, &action, nullptr);
}

// Interrupts an append, in the middle of its line, by a signal whose handler appends.
std::uint64_t append_interrupted(int signal) {
  return target->append_with([&](char* buffer, std::size_t) {
    std::memcpy(buffer, "inter", 5);
    raise(signal);
    std::memcpy(buffer + 5, "rupted", 6);
    return std::size_t{11};
  });
}

TEST(journal_signals, a_handler_may_append_where_there_is_one_lane) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  EXPECT_EQ(in_child([&] {
              alarm(patience_s);
              journal log(path, {.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 1});
              target = &log;
              handle(SIGUSR1, [](int) { target->append("handler"); });
              const std::uint64_t number = append_interrupted(SIGUSR1);
              return number != 0 && log.dropped_lines() == 0 ? 0 : 100;
            }),
            ending{});
  EXPECT_EQ(io_test::texts_of(path), (std::vector<std::string>{"interrupted", "handler"}));
}

// Each of the threads is inside an append, and each is interrupted at the same time, `depth` times inside each other.
// They wait for each other inside, so that all lanes are taken.
constexpr int interrupted_threads = 4;
thread_local int depth_left = 0;

void append_and_go_deeper(int) {
  const auto write = [](char* buffer, std::size_t) {
    if (depth_left-- > 0) {
      raise(SIGUSR1);
    } else {
      ++arrived;
      while (arrived < expected_arrivals) sched_yield();
    }
    std::memcpy(buffer, "x", 1);
    return std::size_t{1};
  };
  appended_lines += target->append_with(write) != 0 ? 1 : 0;
}

struct counts {
  int appended_lines;
  std::uint64_t dropped;
  friend bool operator==(const counts&, const counts&) = default;
};

ending interrupt_all(const std::string& path, int depth, counts expected) {
  return in_child([&] {
    alarm(patience_s);
    journal log(path, {.bytes = 256 * 1024, .chunk_bytes = 4096, .lanes = interrupted_threads});
    target = &log;
    expected_arrivals = interrupted_threads;
    handle(SIGUSR1, append_and_go_deeper);
    std::vector<std::thread> appenders;
    for (int thread = 0; thread < interrupted_threads; ++thread) {
      appenders.emplace_back([&] {
        depth_left = depth;
        append_and_go_deeper(0);
      });
    }
    for (std::thread& thread : appenders) thread.join();
    log.append("x");  // the lanes are free again
    return counts{appended_lines, log.dropped_lines()} == expected && log.append("x") != 0 ? 0 : 100;
  });
}

TEST(journal_signals, three_handlers_inside_each_other_have_a_lane_in_every_thread) {
  for (const int depth : {1, 3}) {
    const io_test::folder folder;
    const int lines = interrupted_threads * (depth + 1);
    EXPECT_EQ(interrupt_all(folder.path("log"), depth, {lines, 0}), ending{});
    EXPECT_EQ(journal_reader(folder.path("log")).lines().size(), static_cast<std::size_t>(lines + 2));
  }
}

#ifndef __SANITIZE_THREAD__  // its runtime delivers a signal that a handler raises only after that handler
TEST(journal_signals, a_line_that_finds_no_lane_is_counted_and_reported) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  EXPECT_EQ(
      in_child([&] {
        alarm(patience_s);
        journal log(path, {.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 1});
        target = &log;
        logger one_logger(log, "handler");
        target_logger = &one_logger;
        depth_left = 3;
        handle(SIGUSR2, [](int) {
          appended_lines += target->append("deepest") != 0 ? 1 : 0;
          target_logger->info("deepest");
        });
        // The fifth lane is asked for inside the fourth.
        handle(SIGUSR1, [](int) {
          appended_lines += target->append_with([](char* buffer, std::size_t) {
            raise(--depth_left > 0 ? SIGUSR1 : SIGUSR2);
            *buffer = 'x';
            return std::size_t{1};
          }) != 0;
        });
        append_interrupted(SIGUSR1);
        return counts{appended_lines, log.dropped_lines()} == counts{3, 2} && one_logger.dropped_lines() == 1 ? 0 : 100;
      }),
      (ending{.signal = 0,
              .status = 0,
              .error = "tarn: journal " + path +
                       ": a line of a signal handler is dropped, because interrupted appends have all 4 lanes: "
                       "raise journal_options::lanes\n"}));
  EXPECT_EQ(io_test::texts_of(path), (std::vector<std::string>{"interrupted", "x", "x", "x"}));
}

// Timers interrupt loggers at any instruction, also while they read the clock and format a time.
#endif

TEST(journal_signals, loggers_in_handlers_of_timers_lose_nothing) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  constexpr int lines_each = 20'000;
  EXPECT_EQ(in_child([&] {
              alarm(patience_s * 4);
              journal log(path, {.bytes = 128 << 20, .chunk_bytes = 4096, .lanes = 2});
              logger workers(log, "worker"), handlers(log, "handler");
              target = &log;
              target_logger = &handlers;
              handle(SIGPROF, [](int) {
                target_logger->info("line {}", 1);
                ++appended_lines;
              });
              const itimerval every{{0, 200}, {0, 200}};
              setitimer(ITIMER_PROF, &every, nullptr);
              // A fast machine appends these lines before the kernel's clock has ticked once.
              std::atomic<int> worker_lines{0};
              std::vector<std::thread> appenders;
              for (int thread = 0; thread < 4; ++thread) {
                appenders.emplace_back([&] {
                  for (int line = 0; line < lines_each || appended_lines == 0; ++line) {
                    workers.info("line {}", line);
                    ++worker_lines;
                  }
                });
              }
              for (std::thread& thread : appenders) thread.join();
              const itimerval never{};
              setitimer(ITIMER_PROF, &never, nullptr);
              const journal_reader contents(path);
              const auto whole = static_cast<int>(contents.lines().size());
              return whole == worker_lines + appended_lines && log.dropped_lines() == 0 &&
                             contents.torn_lines() + contents.damaged_lines() + contents.lost_pieces() == 0
                         ? 0
                         : 100;
            }),
            ending{});
}

}  // namespace
