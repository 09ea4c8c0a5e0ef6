// Reads recordings with errors: the reader reports them and stays inside its memory (the sanitizers watch).
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <random>
#include <vector>

#include "profiler/format/checksum.hpp"
#include "profiler/format/reader.hpp"
#include "unit/format/example.hpp"

namespace tarn::format {
namespace {

struct plain_block {
  std::uint32_t kind;
  std::string content;
};

std::vector<plain_block> blocks_of(std::string_view file) {
  std::vector<plain_block> blocks;
  file.remove_prefix(sizeof(file_header));
  while (!file.empty()) {
    block_header header;
    std::memcpy(&header, file.data(), sizeof header);
    std::string content(header.unpacked, '\0');
    ZSTD_decompress(content.data(), content.size(), file.data() + sizeof header, header.packed);
    blocks.push_back({header.kind, content});
    file.remove_prefix(sizeof header + header.packed);
  }
  return blocks;
}

// The checksums are corrected, so that errors inside reach the decoders.
std::string file_with(const std::vector<plain_block>& blocks, std::uint32_t said_more = 0) {
  const file_header first{recording_magic, recording_version, 0};
  std::string file(reinterpret_cast<const char*>(&first), sizeof first);
  for (const plain_block& block : blocks) {
    std::string packed(ZSTD_compressBound(block.content.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), block.content.data(), block.content.size(), 1));
    block_header header{block_mark, block.kind, static_cast<std::uint32_t>(packed.size()),
                        static_cast<std::uint32_t>(block.content.size()) + said_more, 0};
    header.checksum = checksum_of(header, packed);
    file.append(reinterpret_cast<const char*>(&header), sizeof header).append(packed);
  }
  return file;
}

// The parts are separate blocks, so that changes reach each of them.
std::vector<plain_block> without_snapshots(const std::vector<plain_block>& blocks) {
  std::vector<plain_block> parts;
  for (const plain_block& block : blocks) {
    if (block.kind != static_cast<std::uint32_t>(block_kind::snapshot)) {
      parts.push_back(block);
      continue;
    }
    for (decoder input(block.content); !input.at_end();) {
      const auto kind = static_cast<std::uint32_t>(input.number());
      parts.push_back({kind, std::string(input.text())});
    }
  }
  return parts;
}

TEST(broken_recordings, a_changed_byte_is_found) {
  const std::string file = file_of(example_recording());
  for (std::size_t index = sizeof(file_header); index < file.size(); ++index) {
    std::string broken = file;
    broken[index] = static_cast<char>(broken[index] ^ (1 << index % 8));
    EXPECT_NE(parse(broken).damage, "") << "byte " << index;
  }
}

TEST(broken_recordings, a_wrong_size_is_found) {
  const auto blocks = blocks_of(file_of(example_recording()));
  EXPECT_EQ(parse(file_with(blocks)).damage, "");
  EXPECT_NE(parse(file_with(blocks, 1)).damage, "");
  EXPECT_NE(parse(file_with(blocks, ~0U - 4096)).damage, "") << "gigabytes would be allocated";
}

TEST(broken_recordings, references_to_what_was_not_written_are_found) {
  auto blocks = blocks_of(file_of(example_recording()));
  blocks = without_snapshots(blocks);
  EXPECT_EQ(parse(file_with(blocks)).damage, "") << "parts of a look are blocks as well";
  std::erase_if(blocks,
                [](const plain_block& block) { return block.kind == static_cast<std::uint32_t>(block_kind::sites); });
  EXPECT_NE(parse(file_with(blocks)).damage, "");
  blocks = blocks_of(file_of(example_recording()));
  blocks.push_back({99, "x"});
  EXPECT_NE(parse(file_with(blocks)).damage, "") << "an unknown kind";
}

TEST(broken_recordings, a_look_inside_a_look_is_found) {
  const auto blocks = blocks_of(file_of(example_recording()));
  encoder inner;
  inner.number(static_cast<std::uint32_t>(block_kind::snapshot));
  inner.text(blocks[1].content);
  EXPECT_NE(parse(file_with({blocks[0], {blocks[1].kind, std::string(inner.bytes())}})).damage, "");
}

TEST(broken_recordings, anything_inside_a_block_ends_in_a_reason_or_a_recording) {
  const auto good = without_snapshots(blocks_of(file_of(example_recording())));
  std::mt19937 random(1);
  const auto random_below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  std::size_t damaged = 0;
  for (int round = 0; round < 4000; ++round) {
    auto broken = good;
    for (std::size_t changes = 1 + random_below(4); changes > 0; --changes) {
      plain_block& block = broken[random_below(broken.size())];
      const std::size_t index = random_below(block.content.size() + 1);
      switch (random_below(5)) {
        case 0: block.content.resize(index); break;
        case 1: block.content.insert(index, 1 + random_below(12), static_cast<char>(0xff)); break;
        case 2: block.content.insert(index, block.content.substr(random_below(block.content.size() + 1))); break;
        case 3: block.kind = static_cast<std::uint32_t>(random_below(24)); break;
        default:
          if (index < block.content.size()) block.content[index] = static_cast<char>(random_below(256));
      }
    }
    const recording read = parse(file_with(broken));
    damaged += read.damage.empty() ? 0 : 1;
    for (const auto& [key, value] : read.cells) {
      ASSERT_LT(key.site, read.sites.size());
      ASSERT_LT(key.owner, read.threads.size());
      ASSERT_LT(key.actor, read.threads.size());
    }
    for (const auto& [key, value] : read.calls) ASSERT_LT(key.site, read.sites.size());
    for (const auto& [key, value] : read.acquisitions) ASSERT_LT(key.lock, read.locks.size());
    for (const auto& [key, value] : read.waits) {
      ASSERT_LT(key.holder, read.threads.size());
      ASSERT_LT(key.holder_site, read.sites.size());
      ASSERT_LT(key.lock, read.locks.size());
    }
    for (const auto& [key, value] : read.orders) ASSERT_LT(std::max(key.held_lock, key.gate), read.locks.size());
    for (const auto& [key, value] : read.violations) ASSERT_LT(key.region, read.quiet_regions.size());
    for (const auto& [key, value] : read.cpu.cells) {
      ASSERT_LT(key.site, read.cpu.stacks.size());
      ASSERT_LT(key.thread, read.cpu.threads.size());
    }
  }
  EXPECT_GT(damaged, 1000U);
}

}  // namespace
}  // namespace tarn::format
