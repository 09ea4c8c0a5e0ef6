#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "profiler/base/failure.hpp"
#include "profiler/report/html/file.hpp"

// Takes the place of the page that the command embeds from web/.
asm(R"(
  .pushsection .rodata
  .global tarn_page_begin
  .global tarn_page_end
tarn_page_begin:
  .ascii "<begin>@RECORDING@<end>"
tarn_page_end:
  .byte 0
  .popsection
)");

namespace tarn::command {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<std::uint32_t>(std::strchr(digits, letter) - digits);
    if (++count % 4 != 1) bytes += static_cast<char>(bits >> (6 - 2 * ((count + 3) % 4)) & 0xff);
  }
  return bytes;
}

std::string inflated(const std::string& packed, std::size_t size) {
  std::string text(size + 1, 0);
  uLongf length = text.size();
  EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(text.data()), &length, reinterpret_cast<const Bytef*>(packed.data()),
                         packed.size()),
            Z_OK);
  return text.substr(0, length);
}

class page_file : public testing::Test {
 protected:
  std::string path = testing::TempDir() + "tarn-page-" + std::to_string(::getpid());
  void TearDown() override { std::filesystem::remove(path); }
};

TEST_F(page_file, holds_the_text_between_its_begin_and_end) {
  for (const std::size_t size : {0, 1, 2, 3, 100, 300'000}) {
    std::string text;
    unsigned seed = 1;  // hardly compressible
    while (text.size() < size) text += static_cast<char>('a' + ((seed = seed * 1664525 + 1013904223) >> 24) % 26);
    html_file page(path);
    for (std::size_t offset = 0; offset < text.size(); offset += 77) page.add(text.substr(offset, 77));
    page.end();
    const std::string written = content(path);
    ASSERT_TRUE(written.starts_with("<begin>") && written.ends_with("<end>")) << size;
    EXPECT_EQ(inflated(from_base64(written.substr(7, written.size() - 12)), size), text);
  }
}

TEST_F(page_file, a_file_that_was_not_ended_is_removed) {
  {
    html_file page(path);
    page.add("some");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(page_file, a_path_that_cannot_be_written_is_a_failure) {
  EXPECT_THROW(html_file(path + "/no/such/folder"), failure);
}

// The disk is full: a limit of the process, which therefore is a process of its own.
TEST_F(page_file, a_file_is_removed_when_the_disk_is_full) {
  const auto fill = [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, 1000};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) std::_Exit(3);
    try {
      html_file page(path);
      for (int turn = 0; turn < 100'000; ++turn) page.add(std::to_string(turn * 7919));
      page.end();
    } catch (const failure&) {
      std::_Exit(std::filesystem::exists(path) ? 2 : 0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(fill(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tarn::command
