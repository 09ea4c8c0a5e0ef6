#include <tarn/io/lines.hpp>
#include <tarn/io/scan.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <sstream>
#include <vector>

#include "io/kernels.hpp"
#include "io/windows.hpp"
#include "unit/io/io_fixture.hpp"

namespace {

using namespace tarn::io;
using io_test::fake::call;

static_assert(std::ranges::input_range<lines>);
static_assert(!std::is_constructible_v<lines, mapped_file&&>, "the lines of a file that is gone");

TEST(scan, every_kernel_counts_as_std_count_does) {
  for (const kernels& kernel : usable_kernels()) {
    io_test::numbers random(1);
    std::string text(2000, ' ');
    for (char& byte : text) byte = static_cast<char>(random.next_below(3) == 0 ? 'A' : random.next_below(256));
    for (std::size_t start = 0; start < 70; ++start) {
      for (std::size_t size = 0; size < 400; size += 1 + size / 17) {
        for (const char letter : {'A', '\0', '\xff'}) {
          ASSERT_EQ(kernel.count(text.data() + start, size, letter),
                    static_cast<std::size_t>(std::count(text.data() + start, text.data() + start + size, letter)))
              << kernel.name << ' ' << start << ' ' << size;
        }
      }
    }
    const std::string letters(1'000'003, 'A');
    EXPECT_EQ(kernel.count(letters.data(), letters.size(), 'A'), letters.size()) << kernel.name << ": no sum overflows";
  }
}

TEST(scan, every_kernel_has_a_bit_for_each_byte) {
  for (const kernels& kernel : usable_kernels()) {
    io_test::numbers random(2);
    for (int turn = 0; turn < 200; ++turn) {
      std::string text(192 + 7, ' ');
      for (char& byte : text) byte = static_cast<char>(random.next_below(4) == 0 ? '\n' : random.next_below(256));
      const std::size_t start = random.next_below(7);
      std::uint64_t masks[3];
      kernel.masks(text.data() + start, 3, '\n', masks);
      for (std::size_t index = 0; index < 192; ++index) {
        ASSERT_EQ((masks[index / 64] >> index % 64) & 1, text[start + index] == '\n') << kernel.name << ' ' << index;
      }
    }
  }
}

TEST(scan, every_kernel_finds_what_string_view_finds) {
  for (const kernels& kernel : usable_kernels()) {
    io_test::numbers random(3);
    for (int turn = 0; turn < 20'000; ++turn) {
      std::string text(2 + random.next_below(200), ' ');
      for (char& byte : text) byte = static_cast<char>('a' + random.next_below(2));
      const std::size_t length = 2 + random.next_below(std::min<std::size_t>(text.size() - 1, 12));
      std::string pattern = text.substr(random.next_below(text.size() - length + 1), length);
      if (random.next_below(2) == 0) pattern[random.next_below(length)] = 'c';
      const char* const position = kernel.find(text.data(), text.size(), pattern.data(), pattern.size());
      const std::size_t expected = text.find(pattern);
      ASSERT_EQ(position, expected == std::string::npos ? nullptr : text.data() + expected)
          << kernel.name << ' ' << text << ' ' << pattern;
    }
    // Candidates are everywhere: the slow path must take over and still find the target.
    std::string worst(100'000, 'a');
    const std::string pattern = std::string(200, 'a') + 'b' + std::string(200, 'a');
    EXPECT_EQ(kernel.find(worst.data(), worst.size(), pattern.data(), pattern.size()), nullptr);
    worst[90'000] = 'b';
    EXPECT_EQ(kernel.find(worst.data(), worst.size(), pattern.data(), pattern.size()), worst.data() + 90'000 - 200);
  }
}

TEST(scan, find_takes_the_odd_cases) {
  EXPECT_EQ(find("", ""), 0u);
  EXPECT_EQ(find("text", ""), 0u);
  EXPECT_EQ(find("text", "", 4), 4u);
  EXPECT_EQ(find("text", "", 5), std::string_view::npos);
  EXPECT_EQ(find("text", "t", 1), 3u);
  EXPECT_EQ(find("text", "text and more"), std::string_view::npos);
  EXPECT_EQ(find(std::string_view("a\0b\0c", 5), std::string_view("\0c", 2)), 3u);
}

TEST(scan, searches_files_and_readers_like_memory) {
  const io_test::folder folder;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    io_test::numbers random(seed);
    const std::string text = io_test::text(seed, 3 * 8 * 1024 + random.next_below(1000), 80);
    const std::string path = folder.file("text", text);
    const io_test::fake::scoped_hook hook(
        [&](const call& system_call) { return short_and_interrupted(random, system_call); });
    const mapped_file mapped(path);
    EXPECT_TRUE(mapped.is_mapped());
    const auto expected = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), 'q'));
    reader read(path, {.buffer_bytes = 1 + random.next_below(2000)});
    EXPECT_EQ(count(mapped, 'q'), expected);
    EXPECT_EQ(count(read, 'q'), expected);
    for (int turn = 0; turn < 20; ++turn) {
      std::string pattern = text.substr(random.next_below(text.size()), 1 + random.next_below(40));
      if (turn % 4 == 0) pattern += '!';
      const std::size_t position = text.find(pattern);
      const auto expected_offset =
          position == std::string::npos ? std::optional<std::uint64_t>() : std::optional<std::uint64_t>(position);
      reader input(path, {.buffer_bytes = 1 + random.next_below(2000)});
      ASSERT_EQ(find(mapped, pattern), expected_offset);
      ASSERT_EQ(find(input, pattern), expected_offset);
      ASSERT_EQ(input.offset(), expected_offset ? *expected_offset + pattern.size() : text.size())
          << "behind it, or at the end";
    }
  }
  const mapped_file mapped(folder.file("window", std::string(window_bytes - 2, ' ') + "wanted"));
  EXPECT_EQ(find(mapped, "wanted"), window_bytes - 2) << "across two windows";
  EXPECT_EQ(find(mapped, "wanted", window_bytes - 1), std::nullopt);
  EXPECT_EQ(find(mapped, "", window_bytes + 100), std::nullopt);
}

std::vector<std::string> lines_by_getline(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all_lines;
  for (std::string line; std::getline(stream, line);) all_lines.push_back(line);
  return all_lines;
}

template <class Source>
std::vector<std::string> lines_of(Source& source) {
  std::vector<std::string> all_lines;
  for (const std::string_view line : lines(source)) all_lines.emplace_back(line);
  return all_lines;
}

TEST(lines, are_those_of_getline) {
  const io_test::folder folder;
  std::vector<std::string> texts{"", "\n", "a", "a\n", "\n\n", "a\n\nb", "\none"};
  for (std::size_t size = 60; size < 70; ++size)
    texts.push_back(std::string(size, 'x') + "\n" + std::string(size, '\n'));
  for (std::uint64_t seed = 1; seed <= 8; ++seed) texts.push_back(io_test::text(seed, 30'000, seed * seed * 3));
  texts.push_back(std::string(100'000, 'x'));
  for (const std::string& text : texts) {
    const std::string path = folder.file("text", text);
    const auto expected = lines_by_getline(text);
    EXPECT_EQ(lines_of(text), expected);
    const mapped_file mapped(path);
    EXPECT_EQ(lines_of(mapped), expected);
    for (const std::size_t buffer : {1, 10, 64, 1000, 64 * 1024}) {
      reader input(path, {.buffer_bytes = buffer});
      EXPECT_EQ(lines_of(input), expected) << "buffer " << buffer;
      EXPECT_EQ(input.offset(), text.size());
    }
  }
}

TEST(lines, a_loop_that_is_left_leaves_the_reader_behind_its_last_line) {
  const io_test::folder folder;
  const std::string text = io_test::text(5, 20'000, 60);
  const std::string path = folder.file("text", text);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    io_test::numbers random(seed);
    reader input(path, {.buffer_bytes = 1 + random.next_below(3000)});
    std::uint64_t offset = 0;
    while (offset < text.size()) {
      if (random.next_below(3) == 0) {
        offset += input.block(random.next_below(100)).size();
        continue;
      }
      std::uint64_t left = random.next_below(40);
      for (const std::string_view line : lines(input)) {
        ASSERT_EQ(line, std::string_view(text).substr(offset, line.size()));
        offset += line.size() + 1;
        if (left-- == 0) break;
      }
      offset = std::min<std::uint64_t>(offset, text.size());
      ASSERT_EQ(input.offset(), offset) << "seed " << seed;
    }
  }
}

TEST(lines, an_error_comes_after_what_was_read) {
  const io_test::folder folder;
  const std::string path = folder.file("text", "one\ntwo\nthr");
  std::uint64_t reads = 0;
  const io_test::fake::scoped_hook hook([&](const call& system_call) {
    return system_call.kind == io_test::fake::kind::read && ++reads == 2 ? io_test::fake::verdict{.error = EIO}
                                                                         : io_test::fake::verdict{};
  });
  reader input(path);
  std::vector<std::string> read_lines;
  EXPECT_THROW(
      {
        for (const std::string_view line : lines(input)) read_lines.emplace_back(line);
      },
      error);
  EXPECT_EQ(read_lines, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(input.line(), "thr") << "the second time the disk was well again";
}

}  // namespace
