#include <tarn/io/format.hpp>
#include <tarn/io/journal.hpp>
#include <tarn/io/journal_reader.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"
#include "unit/io/journal_fixture.hpp"

namespace {

using namespace tarn::io;
using io_test::small;
using io_test::texts_of;
using condition = journal_line::condition;
using io_test::fake::call;
using io_test::fake::kind;
using io_test::fake::verdict;

TEST(journal, lines_come_back_in_order_with_their_numbers) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  EXPECT_EQ(journal_reader(folder.path("log")).lines().size(), 0u);
  io_test::numbers random(1);
  std::vector<std::string> expected;
  for (std::uint64_t number = 1; number <= 60; ++number) {
    expected.push_back(std::string(random.next_below(200), static_cast<char>('a' + number % 26)));
    EXPECT_EQ(log.append(expected.back()), number) << "one thread: no gaps, not even at the end of a chunk";
    EXPECT_EQ(texts_of(folder.path("log")), expected) << "read while it is written";
  }
  const journal_reader contents(folder.path("log"));
  for (std::size_t index = 0; index < 60; ++index) EXPECT_EQ(contents.lines()[index].number, index + 1);
  EXPECT_EQ(contents.torn_lines() + contents.damaged_lines() + contents.lost_pieces(), 0u);
}

TEST(journal, keeps_any_bytes_of_any_length) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  const std::string longest(log.longest_line(), '\n');
  const std::vector<std::string> lines{"", std::string(8, '\0'), longest, "\xa5\xa5\xa5\xa5", "", longest, "end"};
  for (const std::string& line : lines) log.append(line);
  EXPECT_EQ(texts_of(folder.path("log")), lines);
  EXPECT_EQ(io_test::thrown<std::length_error>([&] { log.append(longest + "x"); }),
            folder.path("log") + ": a line of 969 bytes; the longest is 968");
  EXPECT_EQ(log.append("after"), 8u) << "nothing was done";
}

// Under UndefinedBehaviorSanitizer a copy from a null pointer ends the test, also one of no bytes.
TEST(journal, takes_a_view_of_nothing) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  EXPECT_EQ(log.append(std::string_view()), 1u);
  EXPECT_EQ(texts_of(folder.path("log")), std::vector<std::string>{""});
}

TEST(journal, goes_on_where_it_ended) {
  const io_test::folder folder;
  std::vector<std::string> expected;
  for (std::uint64_t opening = 0; opening < 50; ++opening) {
    journal log(folder.path("log"), small);
    for (int line = 0; line < 2; ++line) {
      expected.push_back("line " + std::to_string(expected.size() + 1));
      ASSERT_EQ(log.append(expected.back()), expected.size());
    }
  }
  EXPECT_EQ(texts_of(folder.path("log")), expected) << "fifty openings need no fifty chunks";
}

TEST(journal, is_bounded_and_keeps_the_newest) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  const auto bytes = std::filesystem::file_size(folder.path("log"));
  std::uint64_t last = 0;
  for (int line = 0; line < 10'000; ++line) last = log.append("line " + std::to_string(line + 1));
  EXPECT_EQ(last, 10'000u);
  EXPECT_EQ(std::filesystem::file_size(folder.path("log")), bytes);
  const journal_reader contents(folder.path("log"));
  ASSERT_GT(contents.lines().size(), 14u * 24);
  std::uint64_t expected = 10'000 - contents.lines().size();
  for (const journal_line& line : contents.lines()) {
    ++expected;
    EXPECT_EQ(line.number, expected);
    EXPECT_EQ(line.text, "line " + std::to_string(expected));
  }
}

TEST(journal, appends_make_no_system_call) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  const io_test::fake::scoped_hook hook([](const call&) { return verdict{}; });
  for (int line = 0; line < 10'000; ++line) log.append("a line that is a hundred bytes long or so");
  EXPECT_EQ(io_test::fake::calls(), 0u);
}

TEST(journal, a_line_is_made_in_its_place) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  std::vector<std::string> expected;
  int calls = 0;
  for (std::size_t size = 0; size < 300; size += 7) {
    expected.push_back(std::string(size, 'x'));
    log.append_with([&](char* buffer, std::size_t room) {
      ++calls;
      std::memset(buffer, 'x', std::min(size, room));
      return size;
    });
  }
  EXPECT_GT(calls, 43) << "once more where a chunk ends";
  const std::uint64_t before = log.append("before");
  expected.push_back("before");
  EXPECT_THROW(log.append_with([](char*, std::size_t) -> std::size_t { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_THROW(log.append_with([](char*, std::size_t room) { return room + 2000; }), std::length_error);
  EXPECT_EQ(log.append("after"), before + 1);
  expected.push_back("after");
  EXPECT_EQ(texts_of(folder.path("log")), expected);
}

TEST(journal, formats_in_place) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  std::vector<std::string> expected;
  for (int line = 0; line < 100; ++line) {
    EXPECT_EQ(print_line(log, "{} is {:>100}", line, "far"), static_cast<std::uint64_t>(line + 1));
    expected.push_back(fmt::format("{} is {:>100}", line, "far"));
  }
  EXPECT_EQ(texts_of(folder.path("log")), expected);
}

TEST(journal, threads_append_together) {
  const io_test::folder folder;
  constexpr std::size_t threads = 6, lines_each = 500;
  journal log(folder.path("log"), {.bytes = 1 << 20, .chunk_bytes = 4096, .lanes = 4});
  std::vector<std::vector<std::uint64_t>> numbers(threads);
  std::vector<std::thread> appenders;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    appenders.emplace_back([&, thread] {
      for (std::size_t line = 0; line < lines_each; ++line) {
        numbers[thread].push_back(log.append(std::to_string(thread) + " " + std::to_string(line)));
      }
    });
  }
  for (std::thread& thread : appenders) thread.join();
  const journal_reader contents(folder.path("log"));
  ASSERT_EQ(contents.lines().size(), threads * lines_each);
  std::map<std::uint64_t, std::string> by_number;
  std::vector<std::size_t> next(threads);
  for (const journal_line& line : contents.lines()) {
    by_number[line.number] = line.text;
    const std::size_t thread = static_cast<std::size_t>(line.text[0] - '0');
    EXPECT_EQ(line.text, std::to_string(thread) + " " + std::to_string(next[thread]++)) << "each thread's in order";
  }
  ASSERT_EQ(by_number.size(), threads * lines_each) << "no number twice";
  for (std::size_t thread = 0; thread < threads; ++thread) {
    for (std::size_t line = 0; line < lines_each; ++line) {
      ASSERT_EQ(by_number[numbers[thread][line]], std::to_string(thread) + " " + std::to_string(line));
    }
  }
}

TEST(journal, one_lane_is_enough_for_many_threads) {
  const io_test::folder folder;
  journal log(folder.path("log"), {.bytes = 1 << 20, .chunk_bytes = 64 * 1024, .lanes = 1});
  std::vector<std::thread> appenders;
  for (int thread = 0; thread < 4; ++thread) {
    appenders.emplace_back([&] {
      for (int line = 0; line < 5000; ++line) log.append("x");
    });
  }
  for (std::thread& thread : appenders) thread.join();
  const journal_reader contents(folder.path("log"));
  EXPECT_EQ(contents.lines().size(), 20'000u);
  EXPECT_EQ(contents.torn_lines() + contents.damaged_lines() + contents.lost_pieces(), 0u);
}

TEST(journal, nobody_writes_into_a_chunk_that_a_stopped_thread_has) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  // A thread stops in the middle of a line, as by a signal, while the others go around the file ten times.
  const std::uint64_t outer = log.append_with([&](char* buffer, std::size_t) {
    std::memcpy(buffer, "half of ", 8);
    for (int line = 0; line < 5000; ++line) log.append("a line of the others");
    std::memcpy(buffer + 8, "this line", 9);
    return std::size_t{17};
  });
  const journal_reader contents(folder.path("log"));
  const auto position = std::find_if(contents.lines().begin(), contents.lines().end(),
                                     [&](const journal_line& line) { return line.number == outer; });
  ASSERT_NE(position, contents.lines().end());
  EXPECT_EQ(position->text, "half of this line");
  EXPECT_EQ(contents.torn_lines() + contents.damaged_lines() + contents.lost_pieces(), 0u);
}

TEST(journal, threads_that_go_around_and_around_lose_only_the_oldest) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  std::vector<std::thread> appenders;
  for (int thread = 0; thread < 4; ++thread) {
    appenders.emplace_back([&, thread] {
      for (int line = 0; line < 5000; ++line) log.append(std::to_string(thread) + " " + std::to_string(line));
    });
  }
  for (std::thread& thread : appenders) thread.join();
  const journal_reader contents(folder.path("log"));
  EXPECT_EQ(contents.torn_lines() + contents.damaged_lines() + contents.lost_pieces(), 0u);
  EXPECT_GT(contents.lines().size(), 100u);
}

TEST(journal, who_is_second_is_told_so) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  EXPECT_EQ(io_test::thrown<error>([&] { journal second_journal(folder.path("log")); }),
            folder.path("log") + ": is open in this process, as another journal: close that one first");
}

// A process that appends until it is killed, beside a forked child of its own, which is idle.
class server {
 public:
  explicit server(const std::string& path) {
    int started[2];
    if (pipe(started) != 0 || pipe(until_) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_NAME, "a server");
      close(until_[1]);
      journal log(path, small);
      log.append("first life");
      if (fork() != 0) pause();
      char byte = 0;
      static_cast<void>(!write(started[1], &byte, 1));
      static_cast<void>(!read(until_[0], &byte, 1));  // until the test ends
      _exit(0);
    }
    char byte = 0;
    EXPECT_EQ(read(started[0], &byte, 1), 1);
    close(started[0]), close(started[1]), close(until_[0]);
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() { close(until_[1]); }
  void end() const {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
  int until_[2];
};

TEST(journal, names_the_process_that_has_it_and_is_free_when_that_ends) {
  const io_test::folder folder;
  const server first(folder.path("log"));
  EXPECT_EQ(io_test::thrown<error>([&] { journal log(folder.path("log"), small); }),
            folder.path("log") + ": is open in process " + std::to_string(first.process()) +
                " (a server): end that one first, or choose another path");
  first.end();
  journal(folder.path("log"), small).append("second life");
  EXPECT_EQ(texts_of(folder.path("log")), (std::vector<std::string>{"first life", "second life"}));
}

// Its child writes nothing into the parent's file, not even when the parent is gone.
TEST(journal, a_fork_inside_an_append_leaves_the_file_alone) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  int child_status = -1;
  log.append_with([&](char* target, std::size_t) -> std::size_t {
    std::memcpy(target, "parent", 6);
    if (const pid_t child = fork(); child == 0) {
      std::memcpy(target, "child!", 6);
      _exit(log.is_inherited() ? 0 : 1);
    } else {
      waitpid(child, &child_status, 0);
    }
    return 6;
  });
  EXPECT_EQ(child_status, 0);
  EXPECT_EQ(texts_of(folder.path("log")), (std::vector<std::string>{"parent"}));
}

TEST(journal, of_less_than_a_chunk_is_refused) {
  const io_test::folder folder;
  for (const std::uint64_t bytes : {0, 1, 1023}) {
    EXPECT_EQ(io_test::thrown<std::invalid_argument>(
                  [&] { journal log(folder.path("log"), {.bytes = bytes, .chunk_bytes = 1024}); }),
              folder.path("log") + ": journal_options::bytes is " + std::to_string(bytes) +
                  ", less than one chunk of 1024 bytes");
    EXPECT_FALSE(std::filesystem::exists(folder.path("log")));
  }
  journal(folder.path("log"), {.bytes = 1024, .chunk_bytes = 1024}).append("a journal has four chunks at least");
}

TEST(journal, of_too_many_chunks_is_refused) {
  const io_test::folder folder;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 50, ~std::uint64_t{0}}) {
    EXPECT_EQ(io_test::thrown<std::invalid_argument>([&] { journal log(folder.path("log"), {.bytes = bytes}); }),
              folder.path("log") + ": journal_options::bytes is " + std::to_string(bytes) +
                  ", more than 1099511627776 with chunks of 65536 bytes");
    EXPECT_FALSE(std::filesystem::exists(folder.path("log")));
  }
}

TEST(journal, a_forked_child_must_open_its_own) {
  const io_test::folder folder;
  journal log(folder.path("log"), small);
  log.append("parent");
  const auto child = support::in_child([&] {
    return io_test::thrown<std::logic_error>([&] { log.append("child"); }) ==
                       folder.path("log") + ": a journal of the parent process; a forked child must open its own" &&
                   !io_test::thrown<std::logic_error>([&] { log.sync(); }).empty()
               ? 0
               : 1;
  });
  EXPECT_EQ(child, support::ending{});
  log.append("parent again");
  EXPECT_EQ(texts_of(folder.path("log")), (std::vector<std::string>{"parent", "parent again"}));
}

// The child may destroy its inherited journal, and its own journal needs another path while the parent has the first
// one.
TEST(journal, a_forked_child_leaves_the_inherited_one_to_its_parent) {
  const io_test::folder folder;
  auto log = std::make_unique<journal>(folder.path("log"), small);
  log->append("parent");
  const auto child = support::in_child([&] {
    if (io_test::thrown<error>([&] { journal same_path(folder.path("log")); }).empty()) return 1;
    log.reset();
    journal own_journal(folder.path("own"), small);
    own_journal.append("child");
    return 0;
  });
  EXPECT_EQ(child, support::ending{});
  EXPECT_EQ(io_test::thrown<error>([&] { journal second_journal(folder.path("log")); }),
            folder.path("log") + ": is open in this process, as another journal: close that one first");
  log->append("parent again");
  EXPECT_EQ(texts_of(folder.path("log")), (std::vector<std::string>{"parent", "parent again"}));
  EXPECT_EQ(texts_of(folder.path("own")), (std::vector<std::string>{"child"}));
}

TEST(journal, what_is_no_journal_stays_as_it_is) {
  const io_test::folder folder;
  const std::string text = io_test::text(1, 10'000, 100);
  const std::string path = folder.file("text", text);
  const std::string message = path + ": is not a journal";
  EXPECT_EQ(io_test::thrown<error>([&] { journal log(path); }), message);
  EXPECT_EQ(io_test::thrown<error>([&] { journal_reader contents(path); }), message);
  EXPECT_EQ(io_test::content(path), text);
  EXPECT_EQ(io_test::thrown<error>([&] { journal_reader contents(folder.file("empty", "")); }),
            folder.path("empty") + ": is not a journal");
  EXPECT_EQ(io_test::thrown<error>([&] { journal log("/dev/zero"); }), "/dev/zero: is not a journal");
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(io_test::thrown<error>([&] { journal log(folder.path("pipe")); }),
            folder.path("pipe") + ": is not a journal");
  const std::string image = std::string(100'000, '\0') + "a disk's image, perhaps";
  EXPECT_EQ(io_test::thrown<error>([&] { journal log(folder.file("image", image)); }),
            folder.path("image") + ": is not a journal");
  EXPECT_EQ(io_test::content(folder.path("image")), image);
  journal(folder.file("zeros", std::string(100'000, '\0')), small).append("somebody died before he had begun");
  EXPECT_EQ(texts_of(folder.path("zeros")).size(), 1u);
  EXPECT_THROW(journal(folder.path("odd"), {.chunk_bytes = 1000}), std::invalid_argument);
  { journal log(folder.path("log"), small); }
  std::filesystem::resize_file(folder.path("log"), 9000);
  EXPECT_EQ(io_test::thrown<error>([&] { journal log(folder.path("log")); }),
            folder.path("log") +
                ": is a journal of 20480 bytes that was cut off (read its lines by tarn journal, and open another "
                "path) at offset 9000");
}

TEST(journal, every_call_can_fail) {
  const io_test::folder folder;
  for (const bool is_new : {true, false}) {
    for (std::uint64_t failing = 1;; ++failing) {
      std::filesystem::remove(folder.path("log"));
      if (!is_new) journal(folder.path("log"), small).append("before");
      const io_test::fake::scoped_hook hook([&](const call& system_call) {
        return system_call.number == failing ? verdict{.error = ENOSPC} : verdict{};
      });
      std::uint64_t calls = 0;
      try {
        journal log(folder.path("log"), small);
        log.append("line");
        log.sync();
        calls = io_test::fake::calls();
      } catch (const error& failed) {
        EXPECT_TRUE(std::string(failed.what()).starts_with(folder.path("log") + ": ")) << failed.what();
      }
      if (calls != 0 && failing > calls) break;
      io_test::fake::set_hook(nullptr);
      journal log(folder.path("log"), small);
      log.append("after");
      std::vector<std::string> lines = texts_of(folder.path("log"));
      EXPECT_EQ(lines.back(), "after") << "whatever failed, the next one opens it";
    }
  }
}

/// Copies the file in the middle of an append, as a process that dies there would leave it.
TEST(journal, a_torn_line_is_marked_and_never_whole) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  {
    journal log(path, small);
    log.append("one");
    EXPECT_THROW(log.append_with([&](char* buffer, std::size_t) -> std::size_t {
      std::memcpy(buffer, "half", 4);
      std::filesystem::copy_file(path, folder.path("torn"));  // the content at the moment of death
      throw std::runtime_error("died");
    }),
                 std::runtime_error);
  }
  EXPECT_EQ(texts_of(folder.path("torn")), (std::vector<std::string>{"one", "(torn)"}));
  EXPECT_EQ(texts_of(path), (std::vector<std::string>{"one"})) << "an exception is no death";
  journal log(folder.path("torn"), small);
  EXPECT_EQ(log.append("three"), 3u) << "the torn line keeps its number";
  EXPECT_EQ(texts_of(folder.path("torn")), (std::vector<std::string>{"one", "(torn)", "three"}));
}

/// Kills a process with appending threads at a random moment; every line whose append had returned must be there.
void kill_and_look(const io_test::folder& folder, std::uint64_t seed) {
  constexpr std::size_t threads = 3, max_lines = 20'000;
  struct shared {
    std::atomic<bool> is_started;
    std::atomic<std::uint64_t> returned[threads];
  };
  const std::string path = folder.path("log");
  std::filesystem::remove(path);
  auto* const progress =
      static_cast<shared*>(mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    journal log(path, {.bytes = 8 << 20, .chunk_bytes = 4096, .lanes = 4, .prefault_bytes = 0});
    std::vector<std::thread> appenders;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      appenders.emplace_back([&, thread] {
        for (std::uint64_t line = 0; line < max_lines; ++line) {
          const std::string text = std::to_string(thread) + " " + std::to_string(line) + std::string(line % 90, '.');
          log.append(text);
          progress->returned[thread].store(line + 1, std::memory_order_relaxed);
          progress->is_started.store(true, std::memory_order_relaxed);
        }
      });
    }
    for (std::thread& thread : appenders) thread.join();
    _exit(0);
  }
  while (!progress->is_started.load()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(io_test::numbers(seed).next_below(2000)));
  kill(child, SIGKILL);
  int wait_status = 0;
  waitpid(child, &wait_status, 0);

  const journal_reader contents(path);
  std::uint64_t next[threads] = {};
  for (const journal_line& line : contents.lines()) {
    if (line.state == condition::torn) continue;
    ASSERT_EQ(line.state, condition::whole);
    const std::size_t thread = static_cast<std::size_t>(line.text[0] - '0');
    const std::uint64_t number = next[thread]++;
    ASSERT_EQ(line.text, std::to_string(thread) + " " + std::to_string(number) + std::string(number % 90, '.'));
  }
  for (std::size_t thread = 0; thread < threads; ++thread) {
    const std::uint64_t returned = progress->returned[thread].load();
    ASSERT_GE(next[thread], returned) << "a line is lost, seed " << seed;
    ASSERT_LE(next[thread], returned + 1) << "of one more the append may be done and not noted";
  }
  ASSERT_LE(contents.torn_lines(), threads);
  ASSERT_EQ(contents.damaged_lines() + contents.lost_pieces(), 0u);
  journal reopened(path);
  reopened.append("again");
  ASSERT_EQ(journal_reader(path).lines().back().text, "again");
  munmap(progress, sizeof(shared));
}

TEST(journal, kills_lose_no_line) {
  const io_test::folder folder;
  const char* const text = std::getenv("JOURNAL_KILLS");
  const std::uint64_t kills = text != nullptr ? std::strtoull(text, nullptr, 10) : 100;
  ASSERT_GT(kills, 0u) << "JOURNAL_KILLS=" << text << " is no number";
  for (std::uint64_t seed = 1; seed <= kills && !testing::Test::HasFatalFailure(); ++seed) kill_and_look(folder, seed);
}

TEST(journal, what_is_appended_behind_a_chunk_that_was_moved_is_read) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  {
    journal log(path, small);
    for (int line = 0; line < 100; ++line) log.append("line " + std::to_string(line) + std::string(40, '.'));
  }
  std::string bytes = io_test::content(path);
  // Puts the newest chunk into the first slot, too: a valid chunk where it does not belong.
  std::size_t newest = 0;
  std::uint64_t highest = 0;
  for (std::size_t offset = 4096; offset < bytes.size(); offset += small.chunk_bytes) {
    std::uint64_t number;
    std::memcpy(&number, &bytes[offset], sizeof number);
    if (number > highest) highest = number, newest = offset;
  }
  ASSERT_GT(newest, 4096u);
  bytes.replace(4096, small.chunk_bytes, bytes, newest, small.chunk_bytes);
  folder.file("log", bytes);
  {
    journal log(path, small);
    log.append("acknowledged");
  }
  const journal_reader contents(path);
  EXPECT_EQ(contents.lines().back().text, "acknowledged");
  EXPECT_EQ(contents.lost_pieces(), 1u);
}

TEST(journal, a_changed_file_gives_no_line_that_was_not_appended) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  std::vector<std::string> expected;
  {
    journal log(path, small);
    for (int line = 0; line < 100; ++line) {
      expected.push_back("line " + std::to_string(line) + std::string(static_cast<std::size_t>(line), '.'));
      log.append(expected.back());
    }
  }
  const std::string good = io_test::content(path);
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    io_test::numbers random(seed);
    std::string bad = good;
    for (std::uint64_t change = 0; change <= random.next_below(8); ++change) {
      const std::size_t offset = random.next_below(bad.size());
      switch (random.next_below(5)) {
        case 0: bad[offset] = static_cast<char>(random.next_below(256)); break;
        case 1: bad[offset] = static_cast<char>(bad[offset] ^ 1 << random.next_below(8)); break;
        case 2:
          std::fill_n(bad.begin() + static_cast<long>(offset), std::min<std::size_t>(64, bad.size() - offset), '\0');
          break;
        case 3: {  // a piece from somewhere else: whole lines, chunks
          const std::size_t unit = random.next_below(2) == 0 ? 8 : 1024;
          const std::size_t source = random.next_below(bad.size() / unit) * unit, target = offset / unit * unit;
          const std::size_t bytes =
              std::min({unit * (1 + random.next_below(4)), bad.size() - source, bad.size() - target});
          std::memmove(bad.data() + target, good.data() + source, bytes);
          break;
        }
        default: bad.resize(4096 + offset % (bad.size() - 4096 + 1)); break;
      }
    }
    folder.file("log", bad);
    std::optional<journal_reader> contents;
    try {
      contents.emplace(path);
    } catch (const error&) {
      continue;  // its header
    }
    for (const journal_line& line : contents->lines()) {
      if (line.state != condition::whole) continue;
      ASSERT_TRUE(line.number >= 1 && line.number <= 100 && line.text == expected[line.number - 1])
          << "seed " << seed << ", line " << line.number << ": " << line.text;
    }
    // A process that continues it must neither crash nor reuse an existing number.
    try {
      journal log(path);
      const std::uint64_t number = log.append("more");
      const journal_reader after(path);
      for (const journal_line& line : after.lines()) {
        const bool is_old = line.state == condition::whole && line.text != "more";
        ASSERT_FALSE(is_old && line.number == number) << "seed " << seed;
      }
    } catch (const error&) {
    }
  }
}

}  // namespace
