// Creates journals: what it costs, and that nothing is left when there is no room.
#include <tarn/io/journal.hpp>

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/io/io_fixture.hpp"
#include "unit/io/journal_fixture.hpp"

namespace {

using namespace tarn::io;
using io_test::small;
using io_test::fake::verdict;

TEST(journal_creation, gives_back_what_it_had_of_a_full_disk) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  {
    const io_test::fake::scoped_hook hook([](const io_test::fake::call& system_call) {
      return system_call.kind == io_test::fake::kind::allocate ? verdict{.limit = 8192} : verdict{};
    });
    EXPECT_EQ(io_test::thrown<error>([&] { journal log(path, {.bytes = 1 << 20}); }),
              path + ": has no room for a journal of 1048576 bytes: No space left on device");
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "a creation that failed leaves no file";
  EXPECT_EQ(journal(path, {.bytes = 1 << 20}).append("there is room again"), 1u);
}

/// Calls `action` once, when the next journal has opened its file and is about to lock it.
template <class Action>
auto before_the_lock(Action action) {
  return [action, is_done = false](const io_test::fake::call& system_call) mutable {
    if (system_call.kind == io_test::fake::kind::lock && !std::exchange(is_done, true)) action();
    return verdict{};
  };
}

TEST(journal_creation, leaves_the_file_to_another_process_that_locked_it_first) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  std::optional<journal> other_journal;
  {
    const io_test::fake::scoped_hook hook(before_the_lock([&] { other_journal.emplace(path, small); }));
    EXPECT_EQ(io_test::thrown<error>([&] { journal log(path, small); }),
              path + ": is open in this process, as another journal: close that one first");
  }
  other_journal->append("still in its file");
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(io_test::texts_of(path), (std::vector<std::string>{"still in its file"}));
}

TEST(journal_creation, goes_on_behind_another_process_that_had_the_file_first) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  const io_test::fake::scoped_hook hook(before_the_lock([&] { journal(path, small).append("first"); }));
  EXPECT_EQ(journal(path, small).append("second"), 2u);
  EXPECT_EQ(io_test::texts_of(path), (std::vector<std::string>{"first", "second"}));
}

TEST(journal_creation, that_fails_keeps_the_journal_that_another_process_put_into_the_file) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  {
    bool is_alone = true;
    const io_test::fake::scoped_hook hook([&](const io_test::fake::call& system_call) {
      if (system_call.kind == io_test::fake::kind::lock && is_alone) {
        is_alone = false;
        journal(path, small).append("first");
        is_alone = true;
      }
      return system_call.kind == io_test::fake::kind::map && is_alone ? verdict{.error = ENOMEM} : verdict{};
    });
    EXPECT_THROW(journal(path, small), error);
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(io_test::texts_of(path), (std::vector<std::string>{"first"}));
}

TEST(journal_creation, that_fails_keeps_a_file_that_has_its_name_meanwhile) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  {
    const io_test::fake::scoped_hook hook([&](const io_test::fake::call& system_call) {
      if (system_call.kind != io_test::fake::kind::allocate) return verdict{};
      std::filesystem::rename(path, folder.path("log.1"));
      folder.file("log", "another program's");
      return verdict{.error = ENOSPC};
    });
    EXPECT_THROW(journal(path, small), error);
  }
  EXPECT_EQ(io_test::content(path), "another program's");
}

// Another process may have created the file, found no room, and removed it meanwhile.
TEST(journal_creation, does_not_append_to_a_file_that_was_removed) {
  const io_test::folder folder;
  const std::string path = folder.file("log", "");
  const io_test::fake::scoped_hook hook(before_the_lock([&] { std::filesystem::remove(path); }));
  journal log(path, small);
  log.append("in a file with a name");
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(io_test::texts_of(path), (std::vector<std::string>{"in a file with a name"}));
}

TEST(journal_creation, repeats_the_calls_that_a_signal_interrupts) {
  const io_test::folder folder;
  const io_test::fake::scoped_hook hook([last = io_test::fake::kind::sync](
                                            const io_test::fake::call& system_call) mutable {
    const bool can_wait =
        system_call.kind == io_test::fake::kind::open || system_call.kind == io_test::fake::kind::lock ||
        system_call.kind == io_test::fake::kind::allocate || system_call.kind == io_test::fake::kind::write ||
        system_call.kind == io_test::fake::kind::sync_map;
    return can_wait && std::exchange(last, system_call.kind) != system_call.kind ? verdict{.error = EINTR} : verdict{};
  });
  journal log(folder.path("log"), small);
  EXPECT_EQ(log.append("line"), 1u);
  log.sync();
}

// A disk may be full after the first bytes of the header.
TEST(journal_creation, fails_where_the_header_is_only_written_in_part) {
  const io_test::folder folder;
  const std::string path = folder.path("log");
  {
    const io_test::fake::scoped_hook hook([is_begun = false](const io_test::fake::call& system_call) mutable {
      if (system_call.kind != io_test::fake::kind::write) return verdict{};
      return std::exchange(is_begun, true) ? verdict{.error = ENOSPC} : verdict{.limit = 8};
    });
    EXPECT_EQ(io_test::thrown<error>([&] { journal log(path, small); }),
              path + ": cannot be written at offset 8: No space left on device");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(journal_creation, of_64_mib_takes_ten_milliseconds) {
  const io_test::folder folder;
  struct statfs file_system;
  ASSERT_EQ(::statfs(folder.path("").c_str(), &file_system), 0);
  if (file_system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "a tmpfs writes zeros into each page that it allocates";
  const auto processor_ns = [] {
    timespec now;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  std::int64_t min_ns = std::numeric_limits<std::int64_t>::max();
  for (int opening = 0; opening < 5; ++opening) {
    const std::int64_t start = processor_ns();
    const journal log(folder.path(std::to_string(opening)));
    min_ns = std::min(min_ns, processor_ns() - start);
    std::filesystem::remove(log.path());
  }
  EXPECT_LE(min_ns, 10'000'000);
}

}  // namespace
