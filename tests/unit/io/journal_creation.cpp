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
#include <string>

#include "unit/io/io_fixture.hpp"
#include "unit/io/journal_fixture.hpp"

namespace {

using namespace tarn::io;
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
