// Tests what blocks of a made memory contain.
#include "profiler/collect/contents.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "profiler/format/region.hpp"

namespace tarn::command {
namespace {

class made_contents : public testing::Test {
 protected:
  // Adds a block of 64 bytes, of which the program has written these.
  void add(std::uint32_t site, const std::string& written) {
    blocks_.push_back({memory_.size(), 64, site});
    memory_ += written + std::string(64 - written.size(), static_cast<char>(format::unwritten_byte));
  }
  std::map<std::uint32_t, format::site_contents> contents() const {
    return contents_of(blocks_, [&](std::uint64_t address, void* target, std::size_t bytes) {
      if (address + bytes > memory_.size()) return false;
      std::memcpy(target, memory_.data() + address, bytes);
      return true;
    });
  }

  std::string memory_;
  std::vector<heap_block> blocks_;
};

TEST_F(made_contents, ends_that_were_never_written_are_counted) {
  add(1, std::string(40, 'a'));
  add(1, std::string(64, 'b'));
  add(1, "");
  EXPECT_EQ(contents().at(1), (format::site_contents{3, 192, 88, 64, 2, 0, 0, 0}));
}

TEST_F(made_contents, blocks_are_equal_to_earlier_ones_of_their_site) {
  for (const char letter : {'a', 'b', 'a', 'a', 'c'}) add(2, std::string(64, letter));
  add(3, std::string(64, 'a'));
  EXPECT_EQ(contents().at(2), (format::site_contents{5, 320, 0, 0, 0, 2, 128, 1}));
  EXPECT_FALSE(contents().contains(3)) << "equal to blocks of another site alone";
}

TEST_F(made_contents, blocks_without_a_written_byte_or_a_page_are_not_equal) {
  add(1, "");
  add(1, "");
  blocks_.push_back({1 << 20, 64, 1});
  blocks_.push_back({1 << 20, 64, 1});
  EXPECT_EQ(contents().at(1), (format::site_contents{4, 256, 128, 64, 2, 0, 0, 0}));
}

}  // namespace
}  // namespace tarn::command
