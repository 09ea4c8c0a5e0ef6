// Other processes change the file of an open journal: truncated, overwritten, renamed, on a full disk.
#include <tarn/io/journal.hpp>
#include <tarn/io/journal_reader.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"
#include "unit/io/journal_fixture.hpp"

namespace {

using namespace tarn::io;
using io_test::small;
using io_test::texts_of;

constexpr journal_options truncated_options{.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 4};

std::string restored(const std::string& path, const std::string& bytes) {
  return "tarn: journal " + path + ": was truncated to " + bytes +
         " bytes: older lines are gone, new ones are kept; to rotate, rename it and call journal::reopen()\n";
}

using lines = std::vector<std::string>;

TEST(journal_truncated, keeps_what_comes_and_says_so_once) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    log.append("before");
    std::filesystem::resize_file(path, 0);
    const bool has_first_append = log.append("after") == 2 && texts_of(path) == lines{"after"};
    std::filesystem::resize_file(path, 0);
    const bool has_second_append = log.append("after that") == 3 && texts_of(path) == lines{"after that"};
    return has_first_append && has_second_append && log.truncations() == 2 ? 0 : 1;
  });
  EXPECT_EQ(child, (support::ending{.error = restored(path, "0")}));
  journal log(path, truncated_options);
  EXPECT_GT(log.append("the next process"), 3u);
  EXPECT_EQ(texts_of(path), (lines{"after that", "the next process"}));
}

TEST(journal_truncated, is_counted_over_a_reopening) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    std::filesystem::resize_file(path, 0);
    log.append("one");
    std::filesystem::rename(path, folder.path("log.1"));
    const bool is_kept = log.reopen() && log.truncations() == 1;
    std::filesystem::resize_file(path, 0);
    log.append("two");
    return is_kept && log.truncations() == 2 ? 0 : 1;
  });
  EXPECT_EQ(child.status, 0) << child;
}

TEST(journal_truncated, keeps_the_line_that_is_made_in_its_place_meanwhile) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    log.append("before");
    int calls = 0;
    log.append_with([&](char* buffer, std::size_t) {
      std::memcpy(buffer, "half of ", 8);
      if (++calls == 1) std::filesystem::resize_file(path, 0);
      std::memcpy(buffer + 8, "a line", 6);
      return std::size_t{14};
    });
    return calls == 2 && texts_of(path) == lines{"half of a line"} ? 0 : 1;
  });
  EXPECT_EQ(child, (support::ending{.error = restored(path, "0")}));
}

TEST(journal_truncated, survives_a_shell_that_writes_something_else_into_it) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    log.append("before");
    folder.file("log", "somebody's own text\n");
    log.append("after");
    return texts_of(path) == lines{"after"} ? 0 : 1;
  });
  EXPECT_EQ(child, (support::ending{.error = restored(path, "20")}));
}

TEST(journal_truncated, is_noticed_without_a_signal_when_it_is_made_as_long_again) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    log.append("before");
    const auto bytes = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, 0);
    std::filesystem::resize_file(path, bytes);
    log.append("after");
    return texts_of(path) == lines{"after"} ? 0 : 1;
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.signal, 0);
}

TEST(journal_truncated, keeps_the_chunks_that_are_left) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    lines expected;
    for (int line = 0; line < 3; ++line) log.append(expected.emplace_back("line " + std::to_string(line)));
    std::filesystem::resize_file(path, 4096 + 4096);  // the header and the first chunk
    for (int line = 3; line < 300; ++line) log.append(expected.emplace_back("line " + std::to_string(line)));
    return texts_of(path) == expected ? 0 : 1;
  });
  EXPECT_EQ(child, (support::ending{.error = restored(path, "8192")}));
}

// Each thread appends; a line whose append began after the last truncation must be there once.
TEST(journal_truncated, loses_no_line_of_threads_that_append) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    constexpr std::size_t threads = 4;
    journal log(path, {.bytes = 8 << 20, .chunk_bytes = 4096, .lanes = 4, .prefault_bytes = 0});
    constexpr std::uint64_t last_lines = 500;
    std::atomic<std::uint64_t> progress[threads]{};
    std::atomic<bool> was_last_truncation{false};
    std::uint64_t first_safe[threads]{};  // begun after the last truncation
    std::vector<std::thread> appenders;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      appenders.emplace_back([&, thread] {
        sigset_t every;
        sigfillset(&every);
        pthread_sigmask(SIG_BLOCK, &every, nullptr);  // threads of servers do so
        bool is_last = false;
        for (std::uint64_t line = 0; !is_last || line < first_safe[thread] + last_lines; ++line) {
          if (!is_last && was_last_truncation) first_safe[thread] = line, is_last = true;
          log.append(std::to_string(thread) + " " + std::to_string(line));
          progress[thread] = line + 1;
        }
      });
    }
    for (unsigned round = 0; round < 50; ++round) {
      std::filesystem::resize_file(path, round % 3 == 0 ? 4096 * round : 0);
      for (std::size_t thread = 0; thread < threads; ++thread) {
        const std::uint64_t now = progress[thread];
        while (progress[thread] < now + 5) std::this_thread::yield();
      }
    }
    std::filesystem::resize_file(path, 0);
    was_last_truncation = true;
    for (std::thread& thread : appenders) thread.join();
    const journal_reader contents(path);
    std::map<std::string, int> counts;
    for (const journal_line& line : contents.lines()) ++counts[std::string(line.text)];
    for (const auto& [text, count] : counts) {
      if (count != 1) return 1;
    }
    for (std::size_t thread = 0; thread < threads; ++thread) {
      for (std::uint64_t line = first_safe[thread]; line < progress[thread]; ++line) {
        if (counts.count(std::to_string(thread) + " " + std::to_string(line)) == 0) return 2;
      }
    }
    return contents.torn_lines() + contents.damaged_lines() == 0 ? 0 : 3;
  });
  EXPECT_EQ(child.signal, 0) << child;
  EXPECT_EQ(child.status, 0) << child;
}

TEST(journal_truncated, goes_on_in_memory_on_a_full_disk_and_is_reopened) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    log.append("before");
    {
      const io_test::fake::scoped_hook hook([](const io_test::fake::call& system_call) {
        return system_call.kind == io_test::fake::kind::extend ? io_test::fake::verdict{.error = ENOSPC}
                                                               : io_test::fake::verdict{};
      });
      std::filesystem::resize_file(path, 0);
      for (int line = 0; line < 10'000; ++line) log.append("nowhere");
    }
    const std::string failed = io_test::thrown<error>([&] { log.sync(); });
    if (failed != path + ": may not be on the disk: sync failed: No space left on device") return 1;
    if (!log.reopen()) return 2;
    log.append("there is room again");
    return texts_of(path) == lines{"there is room again"} ? 0 : 3;
  });
  EXPECT_EQ(child, (support::ending{.error = "tarn: journal " + path +
                                             ": was truncated and cannot be restored (No space left on device): new "
                                             "lines are in no file until journal::reopen() succeeds\n"}));
}

TEST(journal_truncated, is_restored_though_signals_interrupt_it) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    const io_test::fake::scoped_hook hook(
        [last = io_test::fake::kind::sync](const io_test::fake::call& system_call) mutable {
          const bool can_wait =
              system_call.kind == io_test::fake::kind::extend || system_call.kind == io_test::fake::kind::write_at;
          return can_wait && std::exchange(last, system_call.kind) != system_call.kind
                     ? io_test::fake::verdict{.error = EINTR}
                     : io_test::fake::verdict{};
        });
    std::filesystem::resize_file(path, 0);
    log.append("kept");
    return texts_of(path) == lines{"kept"} ? 0 : 1;
  });
  EXPECT_EQ(child, (support::ending{.error = restored(path, "0")}));
}

TEST(journal_truncated, is_reopened_by_a_later_attempt_where_the_first_one_fails) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    {
      const io_test::fake::scoped_hook hook([](const io_test::fake::call& system_call) {
        const bool needs_room =
            system_call.kind == io_test::fake::kind::extend || system_call.kind == io_test::fake::kind::allocate;
        return needs_room ? io_test::fake::verdict{.error = ENOSPC} : io_test::fake::verdict{};
      });
      std::filesystem::resize_file(path, 4096);  // keeps the header
      log.append("nowhere");
      for (int attempt = 0; attempt < 2; ++attempt) {
        if (io_test::thrown<error>([&] { log.reopen(); }) !=
            path + ": was cut, and cannot be extended to its 69632 bytes: free disk space: No space left on device") {
          return 1 + attempt;
        }
      }
      if (io_test::thrown<error>([&] { journal second_journal(path, truncated_options); }) !=
          path + ": is open in this process, as another journal: close that one first") {
        return 3;
      }
    }
    if (!log.reopen()) return 4;
    log.append("there is room again");
    return texts_of(path) == lines{"there is room again"} ? 0 : 5;
  });
  EXPECT_EQ(child, (support::ending{.error = "tarn: journal " + path +
                                             ": was truncated and cannot be restored (No space left on device): new "
                                             "lines are in no file until journal::reopen() succeeds\n"}));
}

// Other processes fill a file system of 1 MiB after the truncation. The test needs the right to mount.
TEST(journal_truncated, goes_on_on_a_file_system_that_is_full) {
  const io_test::folder folder;
  const std::string disk = folder.path("disk");
  std::filesystem::create_directory(disk);
  if (::mount("tarn", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "no right to mount";
  const std::string path = disk + "/log";
  const auto child = support::in_child([&] {
    journal log(path, {.bytes = 512 * 1024, .chunk_bytes = 4096, .lanes = 4, .prefault_bytes = 0});
    log.append("before");
    std::filesystem::resize_file(path, 0);
    std::ofstream(disk + "/other") << std::string(2 << 20, 'x');
    for (int line = 0; line < 10'000; ++line) log.append("nowhere");
    std::filesystem::remove(disk + "/other");
    log.reopen();
    log.append("there is room again");
    return texts_of(path) == lines{"there is room again"} ? 0 : 1;
  });
  // A creation without room leaves nothing.
  std::filesystem::remove(path);
  EXPECT_THROW(journal(path, {.bytes = 4 << 20}), error);
  EXPECT_FALSE(std::filesystem::exists(path));
  ::umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(child.signal, 0) << child;
  EXPECT_EQ(child.status, 0) << child;
}

TEST(journal_truncated, a_limit_of_file_sizes_is_an_error_and_no_signal) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    journal log(path, truncated_options);
    log.append("before");
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::filesystem::resize_file(path, 0);
    for (int line = 0; line < 10'000; ++line) log.append("nowhere");
    const std::string message =
        io_test::thrown<error>([&] { journal second_journal(folder.path("other"), truncated_options); });
    const bool is_told = message == folder.path("other") + ": has no room for a journal of 65536 bytes: File too large";
    return is_told && !std::filesystem::exists(folder.path("other")) ? 0 : 1;
  });
  EXPECT_EQ(child, (support::ending{.error = "tarn: journal " + path +
                                             ": was truncated and cannot be restored (File too large): new lines are "
                                             "in no file until journal::reopen() succeeds\n"}));
}

TEST(journal_reopened, goes_on_in_a_new_file_after_a_rename) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  journal log(path, truncated_options);
  EXPECT_FALSE(log.reopen()) << "it is the same file";
  log.append("one");
  std::filesystem::rename(path, folder.path("log.1"));
  log.append("two");
  EXPECT_TRUE(log.reopen());
  EXPECT_EQ(log.append("three"), 3u);
  EXPECT_EQ(texts_of(folder.path("log.1")), (lines{"one", "two"}));
  EXPECT_EQ(texts_of(path), (lines{"three"}));
  std::filesystem::remove(path);
  log.append("into a file without a name");
  EXPECT_TRUE(log.reopen());
  log.append("five");
  EXPECT_EQ(texts_of(path), (lines{"five"}));
  // The old file is gone, and another file may be in its place.
  { EXPECT_EQ(journal(folder.path("log.1")).append("more"), 3u); }
  std::filesystem::rename(folder.path("log.1"), path);
  EXPECT_TRUE(log.reopen());
  EXPECT_GT(log.append("six"), 5u);
  EXPECT_EQ(texts_of(path), (lines{"one", "two", "more", "six"}));
}

TEST(journal_reopened, stays_with_its_file_after_a_change_of_the_folder) {
  const io_test::folder folder;
  std::filesystem::create_directory(folder.path("elsewhere"));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path("."));
  journal log("log", small);
  log.append("one");
  std::filesystem::current_path("elsewhere");
  EXPECT_EQ(log.path(), folder.path("log"));
  EXPECT_FALSE(log.reopen()) << "nobody has renamed the file";
  log.append("two");
  EXPECT_FALSE(std::filesystem::exists("log"));
  EXPECT_EQ(texts_of(folder.path("log")), (std::vector<std::string>{"one", "two"}));
  std::filesystem::rename(folder.path("log"), folder.path("log.1"));
  EXPECT_TRUE(log.reopen());
  log.append("three");
  EXPECT_EQ(texts_of(folder.path("log")), (std::vector<std::string>{"three"}));
  std::filesystem::current_path(before);
}

TEST(journal_reopened, changes_nothing_where_it_fails) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  journal log(path, truncated_options);
  std::filesystem::rename(path, folder.path("log.1"));
  folder.file("log", "not a journal");
  EXPECT_EQ(io_test::thrown<error>([&] { log.reopen(); }), path + ": is not a journal");
  log.append("goes on in the old one");
  EXPECT_EQ(texts_of(folder.path("log.1")), (lines{"goes on in the old one"}));
  std::filesystem::remove(path);
  { journal tiny(path, {.bytes = 4096, .chunk_bytes = 1024, .lanes = 1}); }
  EXPECT_EQ(io_test::thrown<error>([&] { log.reopen(); }), path + ": is a journal of 4 chunks, and this one needs 16");
}

// A fault stops the append between its test of the size and the new chunk; meanwhile the file changes.
TEST(journal_reopened, keeps_a_line_whole_that_only_the_old_file_has_room_for) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const auto child = support::in_child([&] {
    { journal smaller(folder.path("smaller"), {.bytes = 64 * 1024, .chunk_bytes = 1024, .lanes = 1}); }
    journal log(path, {.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 1});
    const std::string line(3000, 'x');
    log.append(line);
    std::atomic<bool> is_stopped{false};
    std::thread reopening([&] {
      is_stopped.wait(false);
      log.reopen();
    });
    const std::thread::id appending = std::this_thread::get_id();
    const io_test::fake::scoped_hook hook([&](const io_test::fake::call&) {
      if (std::this_thread::get_id() == appending && !is_stopped) {
        is_stopped = true;
        is_stopped.notify_one();
        while (log.longest_line() != 968) std::this_thread::yield();
      }
      return io_test::fake::verdict{};
    });
    log.append_with([&](char* buffer, std::size_t room) {
      if (is_stopped) {
        std::memset(buffer, 'x', std::min(room, line.size()));
      } else {
        std::filesystem::resize_file(path, 0);
        std::filesystem::rename(path, folder.path("log.1"));
        std::filesystem::rename(folder.path("smaller"), path);
      }
      return line.size();
    });
    reopening.join();
    log.append("after");
    return texts_of(folder.path("log.1")) == lines{line} && texts_of(path) == lines{"after"} ? 0 : 1;
  });
  EXPECT_EQ(child, (support::ending{.error = restored(path, "0")}));
}

TEST(journal_reopened, loses_no_line_while_threads_append) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  constexpr std::size_t threads = 4, rotations = 50;
  std::vector<std::uint64_t> appended(threads);
  {
    journal log(path, {.bytes = 4 << 20, .chunk_bytes = 4096, .lanes = 2, .prefault_bytes = 0});
    std::vector<std::thread> appenders;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      appenders.emplace_back([&, thread] {
        for (; appended[thread] < 20'000; ++appended[thread]) {
          log.append(std::to_string(thread) + " " + std::to_string(appended[thread]));
        }
      });
    }
    for (std::size_t rotation = 0; rotation < rotations; ++rotation) {
      std::filesystem::rename(path, path + "." + std::to_string(rotation));
      EXPECT_TRUE(log.reopen());
    }
    for (std::thread& thread : appenders) thread.join();
  }
  std::filesystem::rename(path, path + "." + std::to_string(rotations));
  std::vector<std::uint64_t> next(threads);
  for (std::size_t rotation = 0; rotation <= rotations; ++rotation) {
    const journal_reader contents(path + "." + std::to_string(rotation));
    EXPECT_EQ(contents.torn_lines() + contents.damaged_lines() + contents.lost_pieces(), 0u);
    for (const journal_line& line : contents.lines()) {
      const std::size_t thread = static_cast<std::size_t>(line.text[0] - '0');
      ASSERT_EQ(line.text, std::to_string(thread) + " " + std::to_string(next[thread]++));
    }
  }
  EXPECT_EQ(next, appended);
}

TEST(journal_reopened, a_forked_child_must_open_its_own) {
  const io_test::folder folder;
  journal log(folder.path("log"), truncated_options);
  const auto child =
      support::in_child([&] { return io_test::thrown<std::logic_error>([&] { log.reopen(); }).empty() ? 1 : 0; });
  EXPECT_EQ(child, support::ending{});
}

}  // namespace
