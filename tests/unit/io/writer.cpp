#include <tarn/io/format.hpp>
#include <tarn/io/writer.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
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
std::string write_everything(writer& output, io_test::numbers& random, std::size_t bytes) {
  std::string expected;
  while (expected.size() < bytes) {
    const std::string piece(random.next_below(random.next_below(8) == 0 ? 3000 : 100),
                            static_cast<char>('a' + random.next_below(26)));
    switch (random.next_below(7)) {
      case 0: output.write(piece), expected += piece; break;
      case 1: output.line(piece), expected += piece + "\n"; break;
      case 2: output.write('x'), expected += 'x'; break;
      case 3: output.gather({piece, ", ", piece}), expected += piece + ", " + piece; break;
      case 4: print(output, "{} {}", piece, 42), expected += piece + " 42"; break;
      case 5:
        piece.copy(output.reserve(piece.size()), piece.size());
        output.commit(piece.size());
        expected += piece;
        break;
      default: {
        const std::vector<std::string_view> parts(30, piece);
        output.gather(parts);
        for (const std::string_view part : parts) expected += part;
      }
    }
    EXPECT_EQ(output.offset(), expected.size());
    if (random.next_below(50) == 0) output.flush();
  }
  return expected;
}

TEST(writer, what_was_written_is_there) {
  const io_test::folder folder;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    io_test::numbers random(seed);
    std::optional<io_test::fake::scoped_hook> hook;
    if (seed % 2 == 0) {
      hook.emplace([&](const call& system_call) { return short_and_interrupted(random, system_call); });
    }
    std::string expected;
    {
      writer output(folder.path("file"), {.buffer_bytes = 1 + random.next_below(5000)});
      expected = write_everything(output, random, 100'000);
    }
    ASSERT_EQ(content(folder.path("file")), expected) << "seed " << seed;
  }
}

// Under UndefinedBehaviorSanitizer a copy from a null pointer ends the test, also one of no bytes.
TEST(writer, takes_views_of_nothing) {
  const io_test::folder folder;
  {
    writer output(folder.path("file"), {.buffer_bytes = 4});
    output.write(std::string_view());
    output.line(std::string_view());
    output.gather(std::array<std::string_view, 3>{"a", std::string_view(), "b"});
    output.gather(std::array<std::string_view, 3>{"long", std::string_view(), "er"});
  }
  EXPECT_EQ(content(folder.path("file")), "\nablonger");
}

TEST(writer, small_lines_are_few_calls_and_large_ones_are_not_copied) {
  const io_test::folder folder;
  std::uint64_t writes = 0;
  const io_test::fake::scoped_hook hook([&](const call& system_call) {
    writes += system_call.kind == kind::write;
    return verdict{};
  });
  writer output(folder.path("file"));
  for (int line = 0; line < 10'000; ++line) output.line(std::string(99, 'x'));
  EXPECT_EQ(writes, 15u) << "a million bytes in buffers of 64 KiB";
  output.flush();
  writes = 0;
  output.write("head ");
  output.write(std::string(1 << 20, 'x'));
  EXPECT_EQ(writes, 1u) << "buffer and bytes together";
  EXPECT_EQ(output.buffered_bytes(), 0u);
}

TEST(writer, a_call_that_throws_has_taken_nothing_and_a_flush_goes_on) {
  const io_test::folder folder;
  // The disk is full after `room` bytes, and has room again later.
  for (std::size_t room = 0; room < 400; room += 7) {
    std::size_t left = room;
    const io_test::fake::scoped_hook hook([&](const call& system_call) {
      if (system_call.kind != kind::write) return verdict{};
      if (left == 0) return verdict{.error = ENOSPC};
      const std::size_t now = std::min(left, system_call.bytes);
      left -= now;
      return verdict{.limit = now};
    });
    std::string expected;
    writer output(folder.path("file"), {.buffer_bytes = 64});
    for (int number = 0; number < 20; ++number) {
      const std::string line(static_cast<std::size_t>(number * 5), static_cast<char>('a' + number));
      try {
        if (number % 2 == 0) {
          output.line(line);
        } else {
          output.gather({line, "-", "\n"});
        }
        expected += line + (number % 2 == 0 ? "\n" : "-\n");
      } catch (const error& failed) {
        EXPECT_EQ(failed.code(), std::errc::no_space_on_device);
        EXPECT_EQ(failed.offset(), room);
      }
    }
    left = 1 << 20;
    output.close();
    ASSERT_EQ(content(folder.path("file")), expected) << "room " << room;
  }
}

TEST(writer, takes_nothing_after_it_was_closed) {
  const io_test::folder folder;
  writer output(folder.path("file"));
  output.write("kept");
  output.close();
  const std::string message = folder.path("file") + ": is closed, and cannot be written";
  EXPECT_EQ(io_test::thrown<error>([&] { output.write("lost"); }), message);
  EXPECT_EQ(io_test::thrown<error>([&] { output.write('x'); }), message);
  EXPECT_EQ(io_test::thrown<error>([&] { output.line("lost"); }), message);
  EXPECT_EQ(io_test::thrown<error>([&] { output.gather({"lost", "too"}); }), message);
  EXPECT_EQ(io_test::thrown<error>([&] { output.gather(std::vector<std::string_view>(100, "x")); }), message);
  EXPECT_EQ(io_test::thrown<error>([&] { output.reserve(1); }), message);
  output.flush();
  EXPECT_EQ(output.buffered_bytes(), 0u);
  EXPECT_EQ(content(folder.path("file")), "kept");
  output = writer(folder.path("second"));
  output.write("again");
  output.close();
  EXPECT_EQ(content(folder.path("second")), "again");
}

TEST(writer, reports_what_is_lost_once) {
  const std::string failure = "/dev/full: cannot be written at offset 0: No space left on device";
  std::string thrown_text;
  testing::internal::CaptureStderr();
  {
    writer output("/dev/full");
    output.write("hello");
    thrown_text = io_test::thrown<error>([&] { output.close(); });
  }
  EXPECT_EQ(thrown_text, failure);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");

  testing::internal::CaptureStderr();
  {
    writer output("/dev/full");
    output.write("hello");
    EXPECT_THROW(output.close(), error);
    output.write(", and more");  // nobody has been told of this
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tarn: " + failure + "; 15 bytes that were not flushed are lost\n");
}

TEST(writer, every_call_can_fail) {
  const io_test::folder folder;
  const std::string path = folder.path("file");
  for (std::uint64_t failing = 1;; ++failing) {
    const io_test::fake::scoped_hook hook(
        [&](const call& system_call) { return system_call.number == failing ? verdict{.error = EIO} : verdict{}; });
    try {
      writer output(path, {.buffer_bytes = 100});
      for (int line = 0; line < 20; ++line) output.line("a line of some bytes");
      output.sync();
      output.close();
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
  const io_test::folder folder;
  EXPECT_EQ(io_test::thrown<error>([&] { writer output(folder.path("no/file")); }),
            folder.path("no/file") + ": cannot be opened to write: No such file or directory");
  const std::string existing = folder.file("there", "text");
  EXPECT_EQ(io_test::thrown<error>([&] { writer output(existing, {.existing = if_exists::refuse}); }),
            existing + ": cannot be opened to write: File exists");
  EXPECT_EQ(io_test::thrown<error>([&] {
              writer output("/dev/full");
              output.write("12345");
              output.flush();
            }),
            "/dev/full: cannot be written at offset 0: No space left on device");
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(io_test::thrown<error>([&] {
              writer output(file::adopt(ends[1], "the other end"));
              output.write("12345");
              output.close();
            }),
            "the other end: cannot be written at offset 0: Broken pipe");
}

TEST(writer, a_destructor_that_cannot_flush_says_so) {
  const auto full = support::in_child([] {
    writer output("/dev/full");
    output.write("12345");
  });
  EXPECT_EQ(full, (support::ending{.error = "tarn: /dev/full: cannot be written at offset 0: No space left on device; "
                                            "5 bytes that were not flushed are lost\n"}));
  const auto closing = support::in_child([] {
    const io_test::fake::scoped_hook hook(
        [](const call& system_call) { return system_call.kind == kind::close ? verdict{.error = EDQUOT} : verdict{}; });
    writer output("/dev/null");
    output.write("12345");
  });
  EXPECT_EQ(
      closing,
      (support::ending{.error = "tarn: /dev/null: failed when it was closed at offset 5: Disk quota exceeded\n"}));
  const auto discarded = support::in_child([] {
    writer output("/dev/full");
    output.write("12345");
    return output.discard() == 5 ? 0 : 1;
  });
  EXPECT_EQ(discarded, support::ending{});
}

TEST(writer, appends_where_the_end_is) {
  const io_test::folder folder;
  const std::string path = folder.file("file", "one\n");
  writer output(path, {.existing = if_exists::append});
  EXPECT_EQ(output.offset(), 4u);
  output.line("two");
  output.close();
  EXPECT_EQ(content(path), "one\ntwo\n");
}

TEST(writer, waits_for_a_pipe_that_does_not_block) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  fcntl(ends[0], F_SETFL, 0);
  std::size_t received_bytes = 0;
  std::thread receiver([&] {
    char bytes[10'000];
    for (ssize_t now; (now = read(ends[0], bytes, sizeof bytes)) > 0;) {
      received_bytes += static_cast<std::size_t>(now);
      usleep(100);
    }
  });
  {
    writer output(file::adopt(ends[1], "pipe"));
    for (int line = 0; line < 5000; ++line) output.line(std::string(199, 'x'));
  }
  receiver.join();
  close(ends[0]);
  EXPECT_EQ(received_bytes, 1'000'000u);
}

TEST(writer, sync_of_what_has_no_disk_is_nothing) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  writer output(file::adopt(ends[1], "pipe"));
  output.write("text");
  EXPECT_NO_THROW(output.sync());
  close(ends[0]);
}

TEST(writer, moves) {
  const io_test::folder folder;
  {
    writer first(folder.path("file"));
    first.write("one ");
    writer second(std::move(first));
    second.write("two ");
    writer third("/dev/null");
    third = std::move(second);
    third.write("three");
  }
  EXPECT_EQ(content(folder.path("file")), "one two three");
}

TEST(writer, formats_that_fail_leave_nothing) {
  const io_test::folder folder;
  writer output(folder.path("file"), {.buffer_bytes = 16});
  print_line(output, "{:>40}", "right");
  EXPECT_THROW(print(output, fmt::runtime("{:d}"), "text"), fmt::format_error);
  output.close();
  EXPECT_EQ(content(folder.path("file")), std::string(35, ' ') + "right\n");
}

}  // namespace
