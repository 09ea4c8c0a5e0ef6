#include "memory/pages/metadata.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "base/bits.hpp"
#include "platform/fake/platform.hpp"

namespace {

using namespace tarn::base::units;
using tarn::pages::metadata;
using tarn::pages::record_pool;
namespace fake = tarn::platform::fake;

class metadata_test : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  void TearDown() override { fake::reset(); }
};

bool is_zero(const char* start, std::size_t bytes) {
  for (std::size_t index = 0; index < bytes; ++index) {
    if (start[index] != 0) return false;
  }
  return true;
}

TEST_F(metadata_test, is_zeroed_aligned_and_apart) {
  std::map<char*, std::size_t> records;
  for (std::size_t round = 0; round < 400; ++round) {
    const std::size_t bytes = 1 + round * 37 % 3'000;
    const std::size_t alignment = std::size_t{1} << (round % 13);
    char* const start = static_cast<char*>(metadata::allocate(bytes, alignment));
    ASSERT_NE(start, nullptr);
    ASSERT_TRUE(tarn::base::is_aligned(start, alignment));
    ASSERT_TRUE(is_zero(start, bytes));
    const auto [position, is_new] = records.emplace(start, bytes);
    ASSERT_TRUE(is_new);
    ASSERT_TRUE(std::next(position) == records.end() || start + bytes <= std::next(position)->first);
    ASSERT_TRUE(position == records.begin() || std::prev(position)->first + std::prev(position)->second <= start);
    std::memset(start, 0xff, bytes);
  }
}

TEST_F(metadata_test, one_mapping_serves_many) {
  metadata::allocate(1, 1);
  const auto before = fake::page_requests();
  for (int round = 0; round < 100; ++round) metadata::allocate(1'000, 16);
  EXPECT_LE(fake::page_requests(), before + 1);
}

TEST_F(metadata_test, a_whole_chunk_can_be_had) {
  void* const chunk = metadata::allocate(256_KiB, 4096);
  ASSERT_NE(chunk, nullptr);
  std::memset(chunk, 1, 256_KiB);
}

TEST_F(metadata_test, says_null_without_memory_and_recovers) {
  fake::fail_requests_from(1);
  int had = 0;
  while (metadata::allocate(4'096, 16) != nullptr) {
    ASSERT_LT(++had, 65);  // the rest of the last chunk
  }
  EXPECT_EQ(metadata::allocate(4'096, 16), nullptr);
  fake::fail_requests_from(0);
  EXPECT_NE(metadata::allocate(4'096, 16), nullptr);
}

struct record {
  char bytes[200];
};

TEST_F(metadata_test, records_are_reused) {
  static record_pool<record> pool(tarn::platform::lock_rank::records);
  std::vector<void*> first;
  for (int round = 0; round < 50; ++round) {
    first.push_back(pool.allocate());
    ASSERT_NE(first.back(), nullptr);
    std::memset(first.back(), 1, sizeof(record));
  }
  for (void* record_address : first) pool.deallocate(record_address);
  fake::fail_requests_from(1);
  char* const mark = static_cast<char*>(metadata::allocate(1, 1));
  for (int round = 0; round < 50; ++round) {
    void* const record_address = pool.allocate();
    EXPECT_NE(std::find(first.begin(), first.end(), record_address), first.end());
  }
  EXPECT_EQ(metadata::allocate(1, 1), mark + 1);  // nothing was taken in between
}

TEST_F(metadata_test, threads_get_different_records) {
  static record_pool<record> pool(tarn::platform::lock_rank::records);
  std::vector<std::vector<void*>> records_by_thread(4);
  std::vector<std::thread> threads;
  for (auto& own_records : records_by_thread) {
    threads.emplace_back([&own_records] {
      for (int round = 0; round < 200; ++round) {
        void* const fresh_record = pool.allocate();
        std::memset(fresh_record, 2, sizeof(record));
        if (round % 3 == 0) {
          pool.deallocate(fresh_record);
        } else {
          own_records.push_back(fresh_record);
        }
      }
    });
  }
  for (std::thread& record_address : threads) record_address.join();
  std::map<void*, int> uses;
  for (const auto& records : records_by_thread) {
    for (void* record_address : records) EXPECT_EQ(++uses[record_address], 1);
  }
}

}  // namespace
