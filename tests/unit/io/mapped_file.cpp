#include <tarn/io/lines.hpp>
#include <tarn/io/mapped_file.hpp>
#include <tarn/io/scan.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"

namespace {

using namespace tarn::io;
using io_test::fake::call;
using io_test::fake::kind;
using io_test::fake::verdict;

TEST(mapped_file, is_what_is_in_the_file) {
  const io_test::folder folder;
  const std::string text = io_test::text(1, 100'000, 100);
  const mapped_file file(folder.file("text", text));
  EXPECT_EQ(file.view(), text);
  EXPECT_EQ(file.size(), text.size());
  EXPECT_TRUE(file.is_mapped());
  EXPECT_NO_THROW(file.check());
}

TEST(mapped_file, what_cannot_be_mapped_is_read) {
  const io_test::folder folder;
  const mapped_file empty(folder.file("empty", ""));
  EXPECT_EQ(empty.view(), "");
  EXPECT_FALSE(empty.is_mapped());
  const mapped_file status("/proc/self/status");
  EXPECT_TRUE(status.view().starts_with("Name:")) << "says that it has 0 bytes";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = io_test::text(2, 300'000, 100);
  std::thread sender([&] {
    std::string_view left = text;
    while (!left.empty()) left.remove_prefix(static_cast<std::size_t>(write(ends[1], left.data(), left.size())));
    close(ends[1]);
  });
  const mapped_file piped(file::adopt(ends[0], "pipe"));
  sender.join();
  EXPECT_FALSE(piped.is_mapped());
  EXPECT_EQ(piped.view(), text);
  EXPECT_EQ(count(piped, 'e'), count(text, 'e'));
  const io_test::fake::scoped_hook hook(
      [](const call& system_call) { return system_call.kind == kind::map ? verdict{.error = ENODEV} : verdict{}; });
  const mapped_file unmappable(folder.file("text", text));
  EXPECT_FALSE(unmappable.is_mapped());
  EXPECT_EQ(unmappable.view(), text);
}

TEST(mapped_file, a_file_that_shrinks_is_an_error_and_no_signal) {
  const io_test::folder folder;
  const std::string path = folder.file("text", std::string(100'000, 'x') + "\n");
  for (const std::size_t left : {0, 1, 5000, 8192, 100'000}) {
    folder.file("text", std::string(100'000, 'x') + "\n");
    const mapped_file file(path);
    const std::string view_before(file.view());
    std::filesystem::resize_file(path, left);
    std::size_t letters = 0;
    for (const char byte : file.view()) letters += byte == 'x';
    EXPECT_EQ(letters, left) << "zeros behind it";
    const std::string message =
        path + ": shrank from 100001 bytes while it was mapped; nothing is there at offset " + std::to_string(left);
    EXPECT_EQ(io_test::thrown<error>([&] { file.check(); }), message);
    EXPECT_EQ(io_test::thrown<error>([&] { count(file, 'x'); }), message);
    EXPECT_EQ(io_test::thrown<error>([&] { find(file, "y"); }), message);
    EXPECT_EQ(io_test::thrown<error>([&] {
                for (const std::string_view line : lines(file)) letters += line.size();
              }),
              message);
  }
}

TEST(mapped_file, a_page_that_was_lost_is_remembered) {
  const io_test::folder folder;
  const std::string path = folder.file("text", std::string(100'000, 'x'));
  const mapped_file file(path);
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(file.view()[50'000], '\0');
  std::filesystem::resize_file(path, 100'000);  // has its former length, but not its content
  EXPECT_EQ(io_test::thrown<error>([&] { file.check(); }),
            path + ": could not be read through its mapping: Input/output error");
  EXPECT_NO_THROW(mapped_file(path).check()) << "a new one knows nothing of it";
}

TEST(mapped_file, a_file_that_grows_stays_as_long_as_it_was) {
  const io_test::folder folder;
  const std::string path = folder.file("text", "one\n");
  const mapped_file file(path);
  std::ofstream(path, std::ios::app) << "two\n";
  EXPECT_EQ(file.view(), "one\n");
  EXPECT_NO_THROW(file.check());
}

/// A page outside any mapped_file that has no backing in its file.
const volatile char* strange_page() {
  char name[] = "/tmp/tarn-strange-XXXXXX";
  const int descriptor = mkstemp(name);
  unlink(name);
  return static_cast<const volatile char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these have their own handlers
TEST(mapped_file, other_bus_errors_end_as_they_did) {
  const io_test::folder folder;
  const std::string path = folder.file("text", "text");
  const auto plain = support::in_child([&] {
    const mapped_file file(path);
    static_cast<void>(*strange_page());
  });
  EXPECT_EQ(plain, (support::ending{.signal = SIGBUS, .error = ""}));
}
#endif

TEST(mapped_file, the_handler_of_before_gets_other_bus_errors) {
  const io_test::folder folder;
  const std::string path = folder.file("text", "text");
  const auto with_information = support::in_child([&] {
    struct sigaction theirs {};
    theirs.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_addr != nullptr ? 3 : 4); };
    theirs.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &theirs, nullptr);
    const mapped_file file(path);
    static_cast<void>(*strange_page());
  });
  EXPECT_EQ(with_information, (support::ending{.status = 3, .error = ""}));
  const auto without = support::in_child([&] {
    std::signal(SIGBUS, [](int) { _exit(5); });
    const mapped_file file(path);
    static_cast<void>(*strange_page());
  });
  EXPECT_EQ(without, (support::ending{.status = 5, .error = ""}));
}

TEST(mapped_file, every_call_can_fail) {
  const io_test::folder folder;
  const std::string path = folder.file("text", io_test::text(3, 50'000, 50));
  for (std::uint64_t failing = 1;; ++failing) {
    const io_test::fake::scoped_hook hook(
        [&](const call& system_call) { return system_call.number == failing ? verdict{.error = EIO} : verdict{}; });
    try {
      const mapped_file file(path);
      count(file, 'x');
    } catch (const error& failed) {
      EXPECT_TRUE(std::string(failed.what()).starts_with(path + ": ")) << failed.what();
    }
    if (failing > io_test::fake::calls()) break;
  }
}

TEST(mapped_file, errors_have_path_and_words) {
  const io_test::folder folder;
  EXPECT_EQ(io_test::thrown<error>([&] { mapped_file file(folder.path("none")); }),
            folder.path("none") + ": cannot be opened to read: No such file or directory");
  EXPECT_EQ(io_test::thrown<error>([&] { mapped_file file(folder.path("")); }),
            folder.path("") + ": cannot be read at offset 0: Is a directory");
  const io_test::fake::scoped_hook hook(
      [](const call& system_call) { return system_call.kind == kind::map ? verdict{.error = ENOMEM} : verdict{}; });
  EXPECT_EQ(io_test::thrown<error>([&] { mapped_file file(folder.file("text", "text")); }),
            folder.path("text") + ": cannot be mapped (4 bytes) at offset 0: Cannot allocate memory");
}

TEST(mapped_file, moves) {
  const io_test::folder folder;
  mapped_file first(folder.file("text", "mapped"));
  mapped_file second(std::move(first));
  EXPECT_EQ(second.view(), "mapped");
  mapped_file third("/dev/null");
  third = std::move(second);
  EXPECT_EQ(third.view(), "mapped");
  EXPECT_NO_THROW(third.check());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "read", 4), 4);
  close(ends[1]);
  mapped_file copy(file::adopt(ends[0], "pipe"));
  third = std::move(copy);
  EXPECT_EQ(third.view(), "read") << "a short text moves with its object";
}

TEST(mapped_file, many_threads_map_and_lose_pages) {
  const io_test::folder folder;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      const std::string path = folder.path(std::to_string(number));
      for (int turn = 0; turn < 50; ++turn) {
        folder.file(std::to_string(number), std::string(20'000, 'x'));
        const mapped_file file(path);
        ASSERT_EQ(count(file, 'x'), 20'000u);
        std::filesystem::resize_file(path, 100);
        ASSERT_THROW(count(file, 'x'), error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
