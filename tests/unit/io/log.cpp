// Loggers write whole, escaped lines of the right level into a journal.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tarn/io/format.hpp>
#include <tarn/io/journal_reader.hpp>
#include <tarn/io/log.hpp>

#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"

namespace {

// A type whose formatter logs.
struct connection {
  int id;
};
tarn::io::logger* logger_of_connections = nullptr;

}  // namespace

template <>
struct fmt::formatter<connection> : fmt::formatter<int> {
  template <class Context>
  auto format(const connection& value, Context& context) const {
    logger_of_connections->info("formats {}", value.id);
    return fmt::formatter<int>::format(value.id, context);
  }
};

namespace {

using tarn::io::journal;
using tarn::io::journal_reader;
using tarn::io::level;
using tarn::io::log_form;
using tarn::io::logger;

class log_test : public testing::Test {
 protected:
  std::vector<std::string> lines() const {
    const journal_reader reader(path_);
    std::vector<std::string> texts;
    for (const auto& line : reader.lines()) texts.emplace_back(line.text);
    return texts;
  }
  /// Returns the newest line without its time, after a check of the time's form.
  std::string newest() const {
    const std::string line = lines().back();
    static const std::regex head(R"re(^(time=|\{"time":")\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z[ "])re");
    EXPECT_TRUE(std::regex_search(line, head)) << line;
    return line.substr(line.find('Z') + 2);
  }

  std::string path_ = testing::TempDir() + "log-" + std::to_string(getpid());
  journal file_{(std::remove(path_.c_str()), path_), {.bytes = 1 << 20, .chunk_bytes = 4096}};

  void TearDown() override { std::remove(path_.c_str()); }
};

TEST_F(log_test, has_time_level_name_message_and_fields) {
  logger http(file_, "http");
  http.info("served {} in {:.1f}", "/", 2.5);
  EXPECT_EQ(newest(), R"(level=info logger=http msg="served / in 2.5")");
  http.warning({{"user", "ada b"}, {"ms", 3}, {"ok", false}, {"share", 0.5}, {"big", ~0ull}, {"path", "/a"}}, "slow");
  EXPECT_EQ(
      newest(),
      R"(level=warning logger=http msg="slow" user="ada b" ms=3 ok=false share=0.5 big=18446744073709551615 path=/a)");
}

// Under UndefinedBehaviorSanitizer a copy from a null pointer ends the test, also one of no bytes.
TEST_F(log_test, takes_views_of_nothing) {
  logger http(file_, "http");
  http.info({{"path", std::string_view()}}, "{}", std::string_view());
  EXPECT_EQ(newest(), R"(level=info logger=http msg="" path="")");
}

TEST_F(log_test, takes_a_level_at_run_time) {
  logger http(file_, "http", level::info);
  for (std::uint8_t number = 0; number < static_cast<std::uint8_t>(level::off); ++number) {
    const auto severity = static_cast<level>(number);
    http.log(severity, "n {}", 7);
    http.log(severity, {{"ms", 3}}, "n");
  }
  http.log(level::off, "none");
  http.log(static_cast<level>(200), "none");  // of a C library whose levels are other numbers
  const std::vector<std::string> texts = lines();
  ASSERT_EQ(texts.size(), 8u) << "info, warning, error and critical";
  EXPECT_TRUE(texts.front().ends_with(R"(level=info logger=http msg="n 7")")) << texts.front();
  EXPECT_EQ(newest(), R"(level=critical logger=http msg="n" ms=3)");
  tarn::io::basic_logger<level::warning> floor(file_, "floor", level::trace);
  floor.log(level::info, "below the floor");
  EXPECT_EQ(lines().size(), 8u);
}

TEST(log, level_has_a_name_that_is_read_back) {
  for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(level::off); ++number) {
    EXPECT_EQ(tarn::io::parse_level(level_name(static_cast<level>(number))), static_cast<level>(number));
  }
  EXPECT_EQ(tarn::io::parse_level("Warning"), level::warning);
  EXPECT_EQ(tarn::io::parse_level("WARN"), level::warning);
  for (const char* const text : {"", "inf", "info ", "information", "7"}) {
    EXPECT_FALSE(tarn::io::parse_level(text)) << text;
  }
}

TEST_F(log_test, writes_durations_with_their_unit) {
  using namespace std::chrono_literals;
  logger http(file_, "http");
  http.info({{"a", 120ms}, {"b", -3us}, {"c", 5ns}, {"d", 2s}, {"e", 4min}, {"f", 1h}}, "m");
  EXPECT_EQ(newest(), R"(level=info logger=http msg="m" a=120ms b=-3us c=5ns d=2s e=4min f=1h)");
  using frames = std::chrono::duration<int, std::ratio<1, 64>>;
  using days = std::chrono::duration<int, std::ratio<86'400>>;
  http.info({{"a", std::chrono::duration<double, std::milli>(1.5)}, {"b", frames(16)}, {"c", days(1)}}, "m");
  EXPECT_EQ(newest(), R"(level=info logger=http msg="m" a=1.5ms b=0.25s c=86400s)");
  logger json(file_, "http", level::info, log_form::json);
  json.info({{"ms", 120ms}, {"x", 1}}, "m");
  EXPECT_EQ(nlohmann::json::parse(lines().back())["ms"], "120ms");
  EXPECT_EQ(nlohmann::json::parse(lines().back())["x"], 1);
}

TEST_F(log_test, escapes_what_would_forge_a_line) {
  logger odd(file_, "a b");
  odd.error("two\nlines \"quoted\" \\ \x01");
  EXPECT_EQ(newest(), R"(level=error logger="a b" msg="two\nlines \"quoted\" \\ \u0001")");
  odd.error({{"text", "a=b"}, {"empty", ""}, {"tab", "\t"}}, "{}", "");
  EXPECT_EQ(newest(), R"(level=error logger="a b" msg="" text="a=b" empty="" tab="\t")");
}

TEST_F(log_test, a_field_name_that_would_forge_a_line_is_changed) {
  logger http(file_, "http");
  const std::string name = "a b=\"c\"\n\xc3\xa9";
  http.info({{name, 1}, {std::string(), 2}, {std::string_view("x.y-z_9"), 3}}, "m");
  EXPECT_EQ(newest(), R"(level=info logger=http msg="m" a_b__c____=1 _=2 x.y-z_9=3)");
  logger json(file_, "http", level::info, log_form::json);
  json.info({{name, 1}}, "m");
  EXPECT_EQ(nlohmann::json::parse(lines().back())["a_b__c____"], 1);
}

TEST_F(log_test, a_field_with_a_name_that_each_line_has_is_told_apart) {
  logger json(file_, "http", level::info, log_form::json);
  for (const std::string name : {"time", "level", "logger", "msg"}) {
    json.info({{name, "x"}}, "m");
    const auto line = nlohmann::json::parse(lines().back());
    EXPECT_NE(line[name], "x") << name;
    EXPECT_EQ(line[name + "_"], "x") << name;
  }
}

// Each byte that belongs to no character of UTF-8 becomes U+FFFD in JSON, and stays as it is in logfmt.
TEST_F(log_test, json_is_valid_whatever_the_text_is) {
  const struct {
    const char* text;
    const char* read;
  } cases[] = {
      {"plain", "plain"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", nullptr},  // all valid
      {"\xff", "\xef\xbf\xbd"},
      {"a\x80z", "a\xef\xbf\xbdz"},  // nothing begins with it
      {"\xc3", "\xef\xbf\xbd"},      // it has no end
      {"\xc3(", "\xef\xbf\xbd("},
      {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},  // longer than necessary
      {"\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf0\x80\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                  // half of a pair of UTF-16
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // beyond Unicode
      {"twenty characters, \xe9 and more", "twenty characters, \xef\xbf\xbd and more"},
  };
  logger json(file_, "caf\xe9", level::info, log_form::json);
  logger logfmt(file_, "http");
  for (const auto& [text, expected] : cases) {
    const std::string read = expected != nullptr ? expected : text;
    json.info({{"text", text}}, "{}", text);
    json.info("<{:>40}>", text);  // by {fmt}
    json.info(fmt::runtime(text));
    const std::vector<std::string> written = lines();
    for (std::size_t distance = 1; distance <= 3; ++distance) {
      const auto line = nlohmann::json::parse(written[written.size() - distance], nullptr, false);
      ASSERT_FALSE(line.is_discarded()) << written[written.size() - distance];
      EXPECT_EQ(line["logger"], "caf\xef\xbf\xbd");
      const std::string message = line["msg"];
      EXPECT_NE(message.find(read), std::string::npos) << message;
      EXPECT_EQ(line.value("text", read), read);
    }
    logfmt.info("<{}>", text);
    EXPECT_EQ(newest(), "level=info logger=http msg=\"<" + std::string(text) + ">\"");
  }
  json.info("literal \xe9 {}", 1);
  EXPECT_EQ(nlohmann::json::parse(lines().back())["msg"], "literal \xef\xbf\xbd 1");
}

// A child has no lock of the file. Its lines are counted; the parent's go on.
TEST_F(log_test, a_forked_child_drops_its_lines_and_counts_them) {
  logger http(file_, "http");
  http.info("parent");
  const auto child = support::in_child([&] {
    http.info("child");
    http.debug("below the level");
    http.error({{"ms", 1}}, "child {}", 2);
    return static_cast<int>(http.dropped_lines());
  });
  EXPECT_EQ(child.status, 2);
  EXPECT_TRUE(
      std::regex_match(child.error, std::regex("tarn: journal " + path_ +
                                               ": process \\d+ is a forked child of the one that opened it, so its log "
                                               "lines are dropped: open a journal after fork\\(\\) or daemon\\(\\)\n")))
      << child.error;
  http.info("parent again");
  EXPECT_EQ(http.dropped_lines(), 0u);
  EXPECT_EQ(lines().size(), 2u);
}

// A thread that held the only lane while the formatter logs would wait for itself.
TEST_F(log_test, a_formatter_may_log_into_the_same_journal) {
  std::remove(path_.c_str());
  const auto child = support::in_child([&] {
    alarm(10);
    journal one_lane(path_, {.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 1});
    logger outer(one_lane, "outer"), inner(one_lane, "inner");
    logger_of_connections = &inner;
    outer.info("{} of {:>3}", connection{7}, "a");
    outer.info({{"ms", 1}}, "{:>5000}", connection{8});
    tarn::io::print_line(one_lane, "{:>3}|{}", connection{9}, "\x01");
    return 0;
  });
  EXPECT_EQ(child, support::ending{});
  const std::vector<std::string> texts = lines();
  ASSERT_EQ(texts.size(), 6u) << "a formatter is called once for each line";
  EXPECT_TRUE(texts[0].ends_with(R"(logger=inner msg="formats 7")")) << texts[0];
  EXPECT_TRUE(texts[1].ends_with(R"(logger=outer msg="7 of   a")")) << texts[1];
  EXPECT_TRUE(texts[3].ends_with(R"( " cut=true)")) << texts[3];
  EXPECT_EQ(texts[5], "  9|\x01");
}

TEST_F(log_test, drops_what_is_below_its_level) {
  logger web(file_, "some", level::warning);
  web.info("no");
  web.warning("yes");
  EXPECT_FALSE(web.is_enabled(level::info));
  web.set_min_level(level::trace);
  web.trace("yes");
  web.set_min_level(level::off);
  web.critical("no");
  EXPECT_EQ(lines().size(), 2u);
}

TEST_F(log_test, has_a_floor_that_the_compiler_knows) {
  tarn::io::basic_logger<level::info> web(file_, "some", level::trace);
  web.debug("no");
  web.info("yes");
  EXPECT_FALSE(web.is_enabled(level::debug));
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(log_test, writes_json_that_others_read) {
  logger json(file_, "http", level::info, log_form::json);
  const std::string text = "quote \" backslash \\ tab \t bell \a end";
  json.info({{"user", text}, {"number", -7}, {"yes", true}, {"none", std::numeric_limits<double>::infinity()}}, "{}",
            text);
  const auto read = nlohmann::json::parse(lines().back());
  EXPECT_EQ(read["level"], "info");
  EXPECT_EQ(read["logger"], "http");
  EXPECT_EQ(read["msg"], text);
  EXPECT_EQ(read["user"], text);
  EXPECT_EQ(read["number"], -7);
  EXPECT_EQ(read["yes"], true);
  EXPECT_TRUE(read["none"].is_null());
}

TEST_F(log_test, every_character_at_every_place_is_read_back) {
  logger json(file_, "http", level::info, log_form::json);
  std::vector<std::string> texts;
  std::string letters;
  for (char c = 1; c < 127; ++c) letters += c;
  const auto log_each = [&](std::size_t size, const std::string& characters) {
    for (std::size_t position = 0; position < size; ++position) {
      for (const char c : characters) {
        texts.emplace_back(size, 'x')[position] = c;
        json.info({{"text", texts.back()}}, "{}", texts.back());
      }
    }
  };
  log_each(20, letters + '\x7f');
  for (const std::size_t size : {1, 3, 6, 11, 16, 35}) log_each(size, "\x1f \"\\");
  json.info("literal \"{}\"", "twenty");
  texts.emplace_back("literal \"twenty\"");
  const std::vector<std::string> written = lines();
  ASSERT_EQ(written.size(), texts.size());
  for (std::size_t number = 0; number < texts.size(); ++number) {
    const auto read = nlohmann::json::parse(written[number], nullptr, false);
    ASSERT_FALSE(read.is_discarded()) << written[number];
    ASSERT_EQ(read["msg"], texts[number]);
    ASSERT_EQ(read.value("text", texts[number]), texts[number]);
  }
}

// Lines of all lengths, in chunks that end in their middle: each is whole, or says that it was cut.
TEST_F(log_test, lines_of_any_length_are_whole_or_say_that_they_are_cut) {
  logger json(file_, "http", level::info, log_form::json);
  for (std::size_t length = 0; length < 6000; length += 37) {
    const std::string text(length, length % 2 == 0 ? 'x' : '"');
    json.info({{"size", length}}, "{}", text);
    const auto read = nlohmann::json::parse(lines().back(), nullptr, false);
    ASSERT_FALSE(read.is_discarded()) << length << ": " << lines().back();
    if (read.contains("cut")) {
      ASSERT_GT(length, 1000u);
      ASSERT_TRUE(text.starts_with(read["msg"].get<std::string>()));
    } else {
      ASSERT_EQ(read["msg"], text);
      ASSERT_EQ(read["size"], length);
    }
  }
}

// Writes a line into every room around its size. It has the same size each time, the same text behind its time, and
// changes nothing behind the room.
TEST_F(log_test, a_line_keeps_to_its_room) {
  const std::uint64_t tick = tarn::detail::clock_tick();
  const auto behind_time = [](std::string_view line) { return line.substr(line.find('Z') + 1); };
  for (const log_form form : {log_form::logfmt, log_form::json}) {
    const auto write = [&](char* buffer, std::size_t room, std::string text) {
      tarn::io::log_line line(buffer, room, form);
      const int number = 7;
      if (text.empty()) {
        line.begin<>(" a head of a line", tick, "no arguments");
      } else {
        line.begin<const std::string&, const int&>(" a head of a line", tick, "{} and {}", text, number);
      }
      line.field({"name", "value"});
      line.end();
      return line.size();
    };
    for (const char* const text : {"", "a message", "a \"quoted\" message"}) {
      char whole[200];
      const std::size_t size = write(whole, sizeof whole, text);
      for (std::size_t room = 0; room < size + 60; ++room) {
        std::string buffer(room + 200, '#');
        EXPECT_EQ(write(buffer.data(), room, text) <= room, size <= room) << room;
        if (size <= room) {
          EXPECT_EQ(behind_time({buffer.data(), size}), behind_time({whole, size}));
        }
        ASSERT_EQ(buffer.substr(room), std::string(200, '#')) << room;
      }
    }
  }
}

TEST_F(log_test, a_cut_ends_between_characters) {
  logger json(file_, "http", level::info, log_form::json);
  std::string text;
  while (text.size() < 9000) text += "é";
  for (int shift = 0; shift < 4; ++shift, text.insert(0, "x")) {
    json.info("{}", text);
    const auto read = nlohmann::json::parse(lines().back(), nullptr, false);
    ASSERT_FALSE(read.is_discarded()) << shift;
    ASSERT_GT(read["msg"].get<std::string>().size(), 100u) << shift;
  }
}

// The counted time stays between two readings of the system's clock, except for the clock's corrections.
TEST_F(log_test, the_time_is_that_of_the_system) {
  const auto system_ns = [] {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  constexpr std::int64_t correction_ns = 20'000'000;
  const std::int64_t end = system_ns() + 100'000'000;
  std::int64_t calls = 0;
  for (std::int64_t before = system_ns(); before < end; before = system_ns(), ++calls) {
    const std::int64_t now = tarn::detail::fast_ns_at(tarn::detail::clock_tick());
    ASSERT_GE(now, before - correction_ns) << calls;
    ASSERT_LE(now, system_ns() + correction_ns) << calls;
  }
}

// A process that logs is killed at a random moment: each line whose call had returned is there.
TEST_F(log_test, two_hundred_kills_lose_no_line) {
  const std::string path = path_ + "-killed";
  struct progress {
    std::atomic<bool> is_started;
    std::atomic<int> returned;
  };
  auto* const shared_progress = static_cast<progress*>(
      mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared_progress, MAP_FAILED);
  io_test::numbers random(7);
  for (int kill_number = 0; kill_number < 200; ++kill_number) {
    std::filesystem::remove(path);
    shared_progress->is_started = false;
    shared_progress->returned = 0;
    const pid_t child = fork();
    if (child == 0) {
      journal file(path, {.bytes = 4 << 20, .chunk_bytes = 4096, .prefault_bytes = 0});
      logger log(file, "killed");
      for (int line = 0; line < 20'000; ++line) {
        log.info("line {} of {}", line, "many");
        shared_progress->returned.store(line + 1, std::memory_order_relaxed);
        shared_progress->is_started.store(true, std::memory_order_relaxed);
      }
      _exit(0);
    }
    while (!shared_progress->is_started.load()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random.next_below(1000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const journal_reader reader(path);
    int next = 0;
    for (const auto& line : reader.lines()) {
      if (line.state == tarn::io::journal_line::condition::torn) continue;
      const std::string end = " level=info logger=killed msg=\"line " + std::to_string(next++) + " of many\"";
      ASSERT_EQ(line.text.substr(line.text.find(' ')), end);
    }
    const int returned = shared_progress->returned;
    ASSERT_GE(next, returned) << "a line is lost";
    ASSERT_LE(next, returned + 1) << "of one more the call may be done and not noted";
  }
  std::filesystem::remove(path);
  munmap(shared_progress, sizeof(progress));
}

TEST_F(log_test, threads_log_at_once) {
  logger busy(file_, "all");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int number = 0; number < 200; ++number) busy.info({{"thread", thread}}, "line {}", number);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines().size(), 800u);
  static const std::regex whole(R"re(^time=\S+Z level=info logger=all msg="line \d+" thread=\d$)re");
  for (const std::string& line : lines()) ASSERT_TRUE(std::regex_match(line, whole)) << line;
}

// The text reads as zeros from the moment of the truncation on, and zeros need more bytes than quotes.
TEST(log_truncated, escapes_within_its_line) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  for (const log_form form : {log_form::logfmt, log_form::json}) {
    const auto child = support::in_child([&] {
      journal file(path, {.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 4});
      logger log(file, "truncated", level::info, form);
      const std::string quotes(600, '"');
      std::atomic<bool> has_finished{false};
      std::thread truncating([&] {
        for (int number = 0; number < 400; ++number) {
          std::this_thread::sleep_for(std::chrono::microseconds(500));
          std::filesystem::resize_file(path, 0);
        }
        has_finished = true;
      });
      while (!has_finished) log.info({{"field", quotes}}, "{}", quotes);
      truncating.join();
      log.info("{}", quotes);
      return 0;
    });
    EXPECT_EQ(child.signal, 0) << child.error;
    EXPECT_EQ(child.status, 0) << child.error;
    const journal_reader reader(path);
    EXPECT_FALSE(reader.lines().empty());
    std::filesystem::remove(path);
  }
}

}  // namespace
