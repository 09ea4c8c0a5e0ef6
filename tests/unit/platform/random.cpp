#include "platform/random.hpp"

#include <gtest/gtest.h>

#include <sys/auxv.h>
#include <cerrno>
#include <cstring>
#include <set>

namespace {

namespace platform = tarn::platform;

// These are the vectors of SipHash's reference implementation: the key is `00 01 ... 0f`, the message of n bytes
// `00 01 ...` up to n-1.
TEST(keyed_hash, is_siphash) {
  std::uint64_t key[2];
  unsigned char bytes[16];
  for (unsigned char index = 0; index < 16; ++index) bytes[index] = index;
  std::memcpy(key, bytes, sizeof key);
  EXPECT_EQ(platform::keyed_hash(key, bytes, 0), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(platform::keyed_hash(key, bytes, 8), 0x93f5f5799a932462u);
  EXPECT_EQ(platform::keyed_hash(key, bytes, 15), 0xa129ca6149be45e5u);
}

TEST(random_number, differs_each_time_and_keeps_errno) {
  std::set<std::uint64_t> drawn;
  errno = 17;
  for (int count = 0; count < 100; ++count) {
    drawn.insert(platform::random_number());
    drawn.insert(platform::random_number_without_getrandom());
  }
  EXPECT_EQ(errno, 17);
  EXPECT_EQ(drawn.size(), 200u);
}

TEST(random_number, without_getrandom_has_no_bytes_of_its_seed) {
  const auto* const seed = reinterpret_cast<const char*>(getauxval(AT_RANDOM));
  ASSERT_NE(seed, nullptr);
  for (int count = 0; count < 100; ++count) {
    const std::uint64_t drawn = platform::random_number_without_getrandom();
    char bytes[sizeof drawn];
    std::memcpy(bytes, &drawn, sizeof drawn);
    for (int offset = 0; offset <= 3; ++offset) {
      for (int of_seed = 0; of_seed <= 11; ++of_seed) EXPECT_NE(std::memcmp(bytes + offset, seed + of_seed, 5), 0);
    }
  }
}

}  // namespace
