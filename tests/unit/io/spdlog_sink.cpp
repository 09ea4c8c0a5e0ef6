// Lines of spdlog in a journal: their form, several threads, and a process that is killed.
#include <tarn/io/spdlog_sink.hpp>

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "unit/io/journal_fixture.hpp"

namespace {

using tarn::io::journal;
using tarn::io::log_form;
using tarn::io::spdlog_sink;

class spdlog_test : public testing::Test {
 protected:
  spdlog::logger logger_to(journal& target, std::string name = "app", log_form form = log_form::logfmt) {
    spdlog::logger log(std::move(name), std::make_shared<spdlog_sink>(target, form));
    log.set_pattern("no pattern has an effect");
    return log;
  }
  /// Returns the lines without their times.
  std::vector<std::string> lines() const {
    std::vector<std::string> texts;
    for (const std::string& line : io_test::texts_of(path_)) texts.push_back(line.substr(line.find('Z') + 2));
    return texts;
  }
  void TearDown() override {
    std::remove(file_.path().c_str());
    std::remove(path_.c_str());
  }

  std::string path_ = testing::TempDir() + "spdlog-" + std::to_string(getpid());
  journal file_{(std::remove(path_.c_str()), path_), {.bytes = 4 << 20, .chunk_bytes = 4096}};
};

TEST_F(spdlog_test, lines_have_the_form_of_a_logger) {
  spdlog::logger log = logger_to(file_);
  log.info("served {} in {:.1f}", "/", 2.5);
  log.debug("dropped by spdlog's level");
  log.set_level(spdlog::level::trace);
  log.trace("a \"quote\"\nand braces {}", "{}");
  log.critical("end");
  spdlog::logger json = logger_to(file_, std::string(1000, '\x01'), log_form::json);
  json.warn("x");
  std::string escaped;
  for (int count = 0; count < 64; ++count) escaped += "\\u0001";
  EXPECT_EQ(lines(), (std::vector<std::string>{
                         R"(level=info logger=app msg="served / in 2.5")",
                         R"(level=trace logger=app msg="a \"quote\"\nand braces {}")",
                         R"(level=critical logger=app msg="end")",
                         R"(,"level":"warning","logger":")" + escaped + R"(","msg":"x"})",
                     }));
}

TEST_F(spdlog_test, threads_write_whole_lines) {
  constexpr int threads = 4, count = 1000;
  spdlog::logger log = logger_to(file_);
  std::vector<std::thread> writers;
  for (int thread = 0; thread < threads; ++thread) {
    writers.emplace_back([&, thread] {
      for (int number = 0; number < count; ++number) log.info("line {}", thread * count + number);
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::set<std::string> distinct_lines;
  for (const std::string& line : lines()) distinct_lines.insert(line);
  ASSERT_EQ(distinct_lines.size(), static_cast<std::size_t>(threads * count));
  EXPECT_TRUE(distinct_lines.contains(R"(level=info logger=app msg="line 3999")"));
}

TEST_F(spdlog_test, no_line_is_lost_when_the_process_is_killed) {
  path_ += "-of-child";
  const support::ending child_ending = support::in_child([&] {
    journal childs(path_, {.bytes = 4 << 20, .chunk_bytes = 4096});
    spdlog::logger log = logger_to(childs);
    for (int number = 0; number < 1000; ++number) log.info("line {}", number);
    std::raise(SIGKILL);
  });
  EXPECT_EQ(child_ending.signal, SIGKILL);
  ASSERT_EQ(lines().size(), 1000u);
  EXPECT_EQ(lines().back(), R"(level=info logger=app msg="line 999")");
}

}  // namespace
