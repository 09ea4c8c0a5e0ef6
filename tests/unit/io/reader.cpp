#include <tarn/io/reader.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <thread>
#include <vector>

#include "unit/io/io_fixture.hpp"

namespace {

using namespace tarn::io;
using io_test::fake::call;
using io_test::fake::kind;
using io_test::fake::verdict;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> lines_of(reader& input) {
  std::vector<std::string> lines;
  while (const auto line = input.line()) lines.emplace_back(*line);
  return lines;
}

TEST(reader, lines_are_those_of_getline) {
  const io_test::folder folder;
  for (const std::string text : {"", "\n", "a", "a\n", "\n\n", "a\n\nb", "one\ntwo\n", "\none"}) {
    const std::string path = folder.file("text", text);
    for (const std::size_t buffer : {1, 2, 3, 64 * 1024}) {
      reader input(path, {.buffer_bytes = buffer});
      EXPECT_EQ(lines_of(input), lines_of(text)) << testing::PrintToString(text) << ", buffer " << buffer;
      EXPECT_EQ(input.offset(), text.size());
      EXPECT_FALSE(input.line()) << "still at the end";
    }
  }
}

TEST(reader, short_reads_and_interruptions_change_nothing) {
  const io_test::folder folder;
  const std::string text = io_test::text(1, 200'000, 300);
  const std::string path = folder.file("text", text);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    io_test::numbers random(seed);
    const io_test::fake::scoped_hook hook(
        [&](const call& system_call) { return short_and_interrupted(random, system_call); });
    reader input(path, {.buffer_bytes = 1 + random.next_below(2000)});
    EXPECT_EQ(lines_of(input), lines_of(text)) << "seed " << seed;
  }
}

TEST(reader, mixed_views_give_every_byte_once) {
  const io_test::folder folder;
  const std::string text = io_test::text(2, 100'000, 100);
  const std::string path = folder.file("text", text);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    io_test::numbers random(seed);
    const io_test::fake::scoped_hook hook(
        [&](const call& system_call) { return short_and_interrupted(random, system_call); });
    reader input(path, {.buffer_bytes = 1 + random.next_below(5000)});
    std::string content;
    for (bool has_more = true; has_more;) {
      ASSERT_EQ(input.offset(), content.size());
      const std::size_t bytes = random.next_below(10'000);
      char buffer[10'000];
      switch (random.next_below(6)) {
        case 0:
          if (const auto line = input.line()) {
            content += *line;
            if (content.size() < text.size()) content += '\n';
          } else {
            has_more = false;
          }
          break;
        case 1: content += input.block(bytes); break;
        case 2: content += input.block(); break;
        case 3: content.append(buffer, input.read(buffer, bytes)); break;
        case 4: ASSERT_EQ(input.peek(bytes), text.substr(content.size(), bytes)); break;
        default: content += text.substr(content.size(), input.skip(bytes)); break;
      }
    }
    EXPECT_EQ(content, text) << "seed " << seed;
  }
}

TEST(reader, a_system_call_for_each_buffer_and_no_more) {
  const io_test::folder folder;
  const std::string path = folder.file("text", std::string(1 << 20, 'x'));
  std::uint64_t reads = 0;
  const io_test::fake::scoped_hook hook([&](const call& system_call) {
    reads += system_call.kind == kind::read;
    return verdict{};
  });
  reader input(path);
  while (!input.block().empty()) {
  }
  EXPECT_EQ(reads, 17u) << "16 full buffers and the end";
}

TEST(reader, a_record_that_is_too_long_is_an_error) {
  const io_test::folder folder;
  const std::string path = folder.file("text", "short\n" + std::string(101, 'x') + "\n");
  reader input(path, {.buffer_bytes = 16, .max_record_bytes = 100});
  EXPECT_EQ(input.line(), "short");
  EXPECT_EQ(io_test::thrown<error>([&] { input.line(); }), path + ": a record of more than 100 bytes at offset 6");
  reader enough(path, {.buffer_bytes = 16, .max_record_bytes = 102});
  enough.line();
  EXPECT_EQ(enough.line()->size(), 101u);
}

TEST(reader, errors_have_path_place_and_words) {
  const io_test::folder folder;
  EXPECT_EQ(io_test::thrown<error>([&] { reader input(folder.path("none")); }),
            folder.path("none") + ": cannot be opened to read: No such file or directory");
  EXPECT_EQ(io_test::thrown<error>([&] { reader(folder.path("")).line(); }),
            folder.path("") + ": cannot be read at offset 0: Is a directory");
  EXPECT_EQ(io_test::thrown<error>([&] { reader input(std::string("a\0b", 3)); }),
            "a: a path with a null byte in it cannot be opened: Invalid argument");
  EXPECT_EQ(io_test::thrown<error>([&] { reader(file::borrow(12345, "nothing")).line(); }),
            "nothing: cannot be read at offset 0: Bad file descriptor");
}

TEST(reader, what_came_before_an_error_can_be_taken) {
  const io_test::folder folder;
  const std::string path = folder.file("text", "one\ntwo");
  std::uint64_t reads = 0;
  const io_test::fake::scoped_hook hook([&](const call& system_call) {
    return system_call.kind == kind::read && ++reads == 2 ? verdict{.error = EIO} : verdict{};
  });
  reader input(path);
  EXPECT_EQ(input.line(), "one");
  try {
    input.line();
    FAIL();
  } catch (const error& failed) {
    EXPECT_STREQ(failed.what(), (path + ": cannot be read at offset 7: Input/output error").c_str());
    EXPECT_EQ(failed.code(), std::errc::io_error);
    EXPECT_EQ(failed.offset(), 7u);
    EXPECT_EQ(failed.path(), path);
  }
  EXPECT_EQ(input.block(), "two");
  EXPECT_FALSE(input.line());
}

TEST(reader, every_call_can_fail) {
  const io_test::folder folder;
  const std::string path = folder.file("text", io_test::text(3, 5000, 50));
  std::uint64_t calls = 0;
  for (std::uint64_t failing = 1;; ++failing) {
    const io_test::fake::scoped_hook hook(
        [&](const call& system_call) { return system_call.number == failing ? verdict{.error = EIO} : verdict{}; });
    try {
      reader input(path, {.buffer_bytes = 1000});
      lines_of(input);
    } catch (const error& failed) {
      EXPECT_EQ(failed.code(), std::errc::io_error);
      continue;
    }
    calls = io_test::fake::calls();
    if (failing > calls) break;
  }
  EXPECT_GE(calls, 7u);
}

TEST(reader, waits_for_a_pipe_that_does_not_block) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  std::thread sender([&] {
    for (int piece = 0; piece < 20; ++piece) {
      ASSERT_EQ(write(ends[1], "half a ", 7), 7);
      usleep(500);
      ASSERT_EQ(write(ends[1], "line\n", 5), 5);
    }
    close(ends[1]);
  });
  reader input(file::adopt(ends[0], "pipe"));
  std::size_t lines = 0;
  while (const auto line = input.line()) {
    EXPECT_EQ(*line, "half a line");
    ++lines;
  }
  sender.join();
  EXPECT_EQ(lines, 20u);
  EXPECT_EQ(input.offset(), 240u);
}

TEST(reader, a_file_that_grows_goes_on) {
  const io_test::folder folder;
  const std::string path = folder.file("text", "one\n");
  reader input(path);
  EXPECT_EQ(input.line(), "one");
  EXPECT_FALSE(input.line());
  std::ofstream(path, std::ios::app) << "two\n";
  EXPECT_EQ(input.line(), "two");
}

TEST(reader, refuses_files_that_are_no_files) {
  reader nothing("/dev/null");
  EXPECT_FALSE(nothing.line());
  reader status("/proc/self/status");
  EXPECT_TRUE(status.line()->starts_with("Name:\ttest_io"));
  reader zeros("/dev/zero");
  EXPECT_EQ(zeros.block(100'000), std::string(100'000, '\0'));
}

TEST(reader, moves) {
  const io_test::folder folder;
  reader first(folder.file("text", "one\ntwo\nthree\n"));
  EXPECT_EQ(first.line(), "one");
  reader second(std::move(first));
  EXPECT_EQ(second.line(), "two");
  reader third("/dev/null");
  third = std::move(second);
  EXPECT_EQ(third.line(), "three");
}

TEST(reader, a_borrowed_descriptor_stays_open_and_an_adopted_one_does_not) {
  const io_test::folder folder;
  const int descriptor = open(folder.file("text", "text").c_str(), O_RDONLY);
  { reader input(file::borrow(descriptor, "text")); }
  EXPECT_EQ(lseek(descriptor, 2, SEEK_SET), 2);
  {
    reader input(file::adopt(descriptor, "text"));
    EXPECT_EQ(input.offset(), 2u) << "offsets are the file's";
    EXPECT_EQ(input.line(), "xt");
  }
  EXPECT_EQ(lseek(descriptor, 0, SEEK_SET), -1);
}

}  // namespace
