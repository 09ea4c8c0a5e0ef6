#include <tarn/io/format.hpp>
#include <tarn/io/writer.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"

namespace {

using namespace tarn::io;
using io_test::content;
using io_test::fake::call;
using io_test::fake::kind;
using io_test::fake::verdict;

/// Writes with every function, `bytes` in all or a little more; returns the expected content of the file.
std::string write_everything(writer& to, io_test::numbers& random, std::size_t bytes) {
  std::string expected;
  while (expected.size() < bytes) {
    const std::string piece(random.below(random.below(8) == 0 ? 3000 : 100), static_cast<char>('a' + random.below(26)));
    switch (random.below(7)) {
      case 0: to.write(piece), expected += piece; break;
      case 1: to.line(piece), expected += piece + "\n"; break;
      case 2: to.write('x'), expected += 'x'; break;
      case 3: to.gather({piece, ", ", piece}), expected += piece + ", " + piece; break;
      case 4: print(to, "{} {}", piece, 42), expected += piece + " 42"; break;
      case 5:
        piece.copy(to.reserve(piece.size()), piece.size());
        to.commit(piece.size());
        expected += piece;
        break;
      default: {
        const std::vector<std::string_view> parts(30, piece);
        to.gather(parts);
        for (const std::string_view part : parts) expected += part;
      }
    }
    EXPECT_EQ(to.offset(), expected.size());
    if (random.below(50) == 0) to.flush();
  }
  return expected;
}

TEST(writer, what_was_written_is_there) {
  const io_test::folder here;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    io_test::numbers random(seed);
    std::optional<io_test::fake::scoped_hook> hook;
    if (seed % 2 == 0) {
      hook.emplace([&](const call& of) { return short_and_interrupted(random, of); });
    }
    std::string expected;
    {
      writer to(here.path("file"), {.buffer = 1 + random.below(5000)});
      expected = write_everything(to, random, 100'000);
    }
    ASSERT_EQ(content(here.path("file")), expected) << "seed " << seed;
  }
}

TEST(writer, small_lines_are_few_calls_and_large_ones_are_not_copied) {
  const io_test::folder here;
  std::uint64_t writes = 0;
  const io_test::fake::scoped_hook hook([&](const call& of) {
    writes += of.kind == kind::write;
    return verdict{};
  });
  writer to(here.path("file"));
  for (int line = 0; line < 10'000; ++line) to.line(std::string(99, 'x'));
  EXPECT_EQ(writes, 15u) << "a million bytes in buffers of 64 KiB";
  to.flush();
  writes = 0;
  to.write("head ");
  to.write(std::string(1 << 20, 'x'));
  EXPECT_EQ(writes, 1u) << "buffer and bytes together";
  EXPECT_EQ(to.buffered(), 0u);
}

TEST(writer, a_call_that_throws_has_taken_nothing_and_a_flush_goes_on) {
  const io_test::folder here;
  // The disk is full after `room` bytes, and has room again later.
  for (std::size_t room = 0; room < 400; room += 7) {
    std::size_t left = room;
    const io_test::fake::scoped_hook hook([&](const call& of) {
      if (of.kind != kind::write) return verdict{};
      if (left == 0) return verdict{.error = ENOSPC};
      const std::size_t now = std::min(left, of.bytes);
      left -= now;
      return verdict{.limit = now};
    });
    std::string expected;
    writer to(here.path("file"), {.buffer = 64});
    for (int number = 0; number < 20; ++number) {
      const std::string line(static_cast<std::size_t>(number * 5), static_cast<char>('a' + number));
      try {
        if (number % 2 == 0) {
          to.line(line);
        } else {
          to.gather({line, "-", "\n"});
        }
        expected += line + (number % 2 == 0 ? "\n" : "-\n");
      } catch (const error& failed) {
        EXPECT_EQ(failed.code(), std::errc::no_space_on_device);
        EXPECT_EQ(failed.offset(), room);
      }
    }
    left = 1 << 20;
    to.close();
    ASSERT_EQ(content(here.path("file")), expected) << "room " << room;
  }
}

TEST(writer, every_call_can_fail) {
  const io_test::folder here;
  const std::string path = here.path("file");
  for (std::uint64_t failing = 1;; ++failing) {
    const io_test::fake::scoped_hook hook(
        [&](const call& of) { return of.number == failing ? verdict{.error = EIO} : verdict{}; });
    try {
      writer to(path, {.buffer = 100});
      for (int line = 0; line < 20; ++line) to.line("a line of some bytes");
      to.sync();
      to.close();
    } catch (const error& failed) {
      EXPECT_EQ(failed.code(), std::errc::io_error);
      EXPECT_TRUE(std::string(failed.what()).starts_with(path + ": "));
      continue;
    }
    EXPECT_EQ(content(path).size(), 420u);
    if (failing > io_test::fake::calls()) break;
  }
}

TEST(writer, errors_have_path_place_and_words) {
  const io_test::folder here;
  EXPECT_EQ(io_test::thrown<error>([&] { writer to(here.path("no/file")); }),
            here.path("no/file") + ": cannot be opened to write: No such file or directory");
  const std::string there = here.file("there", "text");
  EXPECT_EQ(io_test::thrown<error>([&] { writer to(there, {.existing = creation::refuse}); }),
            there + ": cannot be opened to write: File exists");
  EXPECT_EQ(io_test::thrown<error>([&] {
              writer to("/dev/full");
              to.write("12345");
              to.flush();
            }),
            "/dev/full: cannot be written at offset 0: No space left on device");
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(io_test::thrown<error>([&] {
              writer to(file::adopt(ends[1], "the other end"));
              to.write("12345");
              to.close();
            }),
            "the other end: cannot be written at offset 0: Broken pipe");
}

TEST(writer, a_destructor_that_cannot_flush_says_so) {
  const auto full = support::in_child([] {
    writer to("/dev/full");
    to.write("12345");
  });
  EXPECT_EQ(
      full,
      (support::ending{.error = "tarn: /dev/full: cannot be written at offset 0: No space left on device; 5 bytes that "
                                "were not flushed are lost\n"}));
  const auto closing = support::in_child([] {
    const io_test::fake::scoped_hook hook(
        [](const call& of) { return of.kind == kind::close ? verdict{.error = EDQUOT} : verdict{}; });
    writer to("/dev/null");
    to.write("12345");
  });
  EXPECT_EQ(
      closing,
      (support::ending{.error = "tarn: /dev/null: failed when it was closed at offset 5: Disk quota exceeded\n"}));
  const auto discarded = support::in_child([] {
    writer to("/dev/full");
    to.write("12345");
    return to.discard() == 5 ? 0 : 1;
  });
  EXPECT_EQ(discarded, support::ending{});
}

TEST(writer, appends_where_the_end_is) {
  const io_test::folder here;
  const std::string path = here.file("file", "one\n");
  writer to(path, {.existing = creation::append});
  EXPECT_EQ(to.offset(), 4u);
  to.line("two");
  to.close();
  EXPECT_EQ(content(path), "one\ntwo\n");
}

TEST(writer, a_pipe_that_does_not_block) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  fcntl(ends[0], F_SETFL, 0);
  std::size_t got = 0;
  std::thread receiver([&] {
    char bytes[10'000];
    for (ssize_t now; (now = read(ends[0], bytes, sizeof bytes)) > 0;) {
      got += static_cast<std::size_t>(now);
      usleep(100);
    }
  });
  {
    writer to(file::adopt(ends[1], "pipe"));
    for (int line = 0; line < 5000; ++line) to.line(std::string(199, 'x'));
  }
  receiver.join();
  close(ends[0]);
  EXPECT_EQ(got, 1'000'000u);
}

TEST(writer, sync_of_what_has_no_disk_is_nothing) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  writer to(file::adopt(ends[1], "pipe"));
  to.write("text");
  EXPECT_NO_THROW(to.sync());
  close(ends[0]);
}

TEST(writer, moves) {
  const io_test::folder here;
  {
    writer first(here.path("file"));
    first.write("one ");
    writer second(std::move(first));
    second.write("two ");
    writer third("/dev/null");
    third = std::move(second);
    third.write("three");
  }
  EXPECT_EQ(content(here.path("file")), "one two three");
}

TEST(writer, formats_that_fail_leave_nothing) {
  const io_test::folder here;
  writer to(here.path("file"), {.buffer = 16});
  print_line(to, "{:>40}", "right");
  EXPECT_THROW(print(to, fmt::runtime("{:d}"), "text"), fmt::format_error);
  to.close();
  EXPECT_EQ(content(here.path("file")), std::string(35, ' ') + "right\n");
}

}  // namespace
