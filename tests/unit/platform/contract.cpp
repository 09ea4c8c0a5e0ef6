// Tests the contract of platform.hpp on linux.cpp and fake/platform.cpp alike.
#include "platform/platform.hpp"
#include "platform/threads.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/bits.hpp"

namespace {

using namespace tarn::base::units;
namespace platform = tarn::platform;

const std::size_t page = platform::page_bytes();

/// Returns true when the kernel has a mapping there.
bool is_mapped(const void* start, std::size_t bytes) {
  std::vector<unsigned char> resident(bytes / page + 1);
  return mincore(const_cast<void*>(start), bytes, resident.data()) == 0;
}

/// Returns true when it can be read: a guard cannot.
bool is_accessible(const void* start) {
  char byte;
  const iovec local{&byte, 1};
  const iovec remote{const_cast<void*>(start), 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

bool is_resident(const void* start, std::size_t bytes) {
  std::vector<unsigned char> resident(bytes / page);
  if (mincore(const_cast<void*>(start), bytes, resident.data()) != 0) return false;
  for (const unsigned char page_state : resident) {
    if ((page_state & 1) == 0) return false;
  }
  return true;
}

bool is_zero(const void* start, std::size_t bytes) {
  const char* const first = static_cast<const char*>(start);
  return first[0] == 0 && std::memcmp(first, first + 1, bytes - 1) == 0;
}

TEST(CONTRACT, pages_are_the_kernels) {
  EXPECT_EQ(page, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_TRUE(tarn::base::is_power_of_two(page));
}

std::size_t kernel_mappings() {
  std::ifstream lines("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'));
}

TEST(CONTRACT, many_mappings_take_half_of_those_that_the_kernel_allows) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer divides its own mappings for each of these, and then has too few";
#endif
  constexpr std::size_t half = 65'530 / 2;
  const std::size_t before = kernel_mappings();
  std::vector<void*> mappings(half);  // twice as many, each with its own guard, would be all of them
  for (void*& start : mappings) {
    start = platform::map(page, page);
    ASSERT_NE(start, nullptr);
    std::memset(start, 1, 1);
  }
  EXPECT_LT(kernel_mappings(), before + half + 1000);
  for (std::size_t index = 0; index < mappings.size(); index += 2) platform::unmap(mappings[index], page);
  for (std::size_t index = 1; index < mappings.size(); index += 2) {
    EXPECT_EQ(*static_cast<char*>(mappings[index]), 1);
    platform::unmap(mappings[index], page);
  }
  EXPECT_LT(kernel_mappings(), before + 1000);

  void* const guarded = platform::map(page, page);  // the guards are back
  EXPECT_FALSE(is_accessible(static_cast<char*>(guarded) - 1));
  EXPECT_FALSE(is_accessible(static_cast<char*>(guarded) + page));
  platform::unmap(guarded, page);
}

TEST(CONTRACT, map_gives_zeroed_memory_at_every_alignment) {
  for (std::size_t alignment = page; alignment <= 1_GiB; alignment *= 2) {
    for (const std::size_t bytes : {page, 3 * page, 64_KiB, 1_MiB + page}) {
      const std::size_t before = platform::mapped_bytes();
      char* const start = static_cast<char*>(platform::map(bytes, alignment));
      ASSERT_NE(start, nullptr) << alignment;
      EXPECT_TRUE(tarn::base::is_aligned(start, alignment)) << alignment;
      EXPECT_EQ(platform::mapped_bytes(), before + bytes);
      EXPECT_TRUE(is_zero(start, bytes));
      std::memset(start, 0x5a, bytes);
      platform::unmap(start, bytes);
      EXPECT_EQ(platform::mapped_bytes(), before);
      EXPECT_FALSE(is_mapped(start, bytes));
    }
  }
}

TEST(CONTRACT, map_leaves_nothing_beside_what_it_gives) {
  const std::size_t alignment = 16_MiB;
  char* const start = static_cast<char*>(platform::map(page, alignment));
  ASSERT_NE(start, nullptr);
  platform::unmap(start, page);
  std::vector<char*> mappings;
  for (int round = 0; round < 20; ++round) {  // an untrimmed rest would shift the next by more and more
    mappings.push_back(static_cast<char*>(platform::map(page, alignment)));
    ASSERT_NE(mappings.back(), nullptr);
  }
  for (char* mapping : mappings) {
    platform::unmap(mapping, page);
    EXPECT_FALSE(is_mapped(mapping, page));
  }
}

TEST(CONTRACT, a_mapping_lies_between_guards) {
  for (const std::size_t alignment : {page, 64_KiB, 2_MiB}) {
    std::vector<char*> mappings;
    for (int round = 0; round < 8; ++round) {
      char* const start = static_cast<char*>(platform::map(3 * page, alignment));
      ASSERT_NE(start, nullptr);
      std::memset(start, 1, 3 * page);
      for (std::size_t away = 1; away < platform::guard_bytes; away += page) {
        EXPECT_FALSE(is_accessible(start - away)) << away;
        EXPECT_FALSE(is_accessible(start + 3 * page - 1 + away)) << away;
      }
      mappings.push_back(start);
    }
    for (char* mapping : mappings) {
      platform::unmap(mapping, 3 * page);
      EXPECT_FALSE(is_mapped(mapping - platform::guard_bytes, 3 * page + 2 * platform::guard_bytes));
    }
  }
}

TEST(CONTRACT, map_says_null_to_the_absurd_and_leaves_errno_alone) {
  errno = 77;
  EXPECT_EQ(platform::map(std::size_t{1} << 62, page), nullptr);
  EXPECT_EQ(platform::map(~std::size_t{0} - page + 1, 1_GiB), nullptr);
  EXPECT_EQ(platform::reserve(std::size_t{1} << 62), nullptr);
  EXPECT_EQ(errno, 77);
}

TEST(CONTRACT, reserved_address_space_is_no_promise_until_made_writable) {
  const std::size_t before = platform::mapped_bytes();
  char* const region = static_cast<char*>(platform::reserve(64_MiB));
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(platform::mapped_bytes(), before);
  EXPECT_FALSE(is_accessible(region));
  ASSERT_TRUE(platform::make_writable(region + 1_MiB, 256_KiB));
  EXPECT_EQ(platform::mapped_bytes(), before + 256_KiB);
  EXPECT_TRUE(is_zero(region + 1_MiB, 256_KiB));
  std::memset(region + 1_MiB, 1, 256_KiB);
  EXPECT_FALSE(is_accessible(region + 1_MiB - 1));
  EXPECT_FALSE(is_accessible(region + 1_MiB + 256_KiB));
}

TEST(CONTRACT, what_was_made_inaccessible_is_zero_when_it_is_writable_again) {
  char* const region = static_cast<char*>(platform::reserve(1_MiB));
  ASSERT_NE(region, nullptr);
  const std::size_t before = platform::mapped_bytes();
  ASSERT_TRUE(platform::make_writable(region, 4 * page));
  std::memset(region, 1, 4 * page);
  ASSERT_TRUE(platform::make_inaccessible(region + page, page));
  EXPECT_EQ(platform::mapped_bytes(), before + 3 * page);
  EXPECT_FALSE(is_accessible(region + page));
  EXPECT_EQ(region[page - 1], 1);
  EXPECT_EQ(region[2 * page], 1);
  ASSERT_TRUE(platform::make_writable(region + page, page));
  EXPECT_TRUE(is_zero(region + page, page));
}

TEST(CONTRACT, what_is_reserved_lies_at_a_random_distance) {
  std::vector<std::ptrdiff_t> distances;
  for (int round = 0; round < 8; ++round) {
    char* const neighbour = static_cast<char*>(platform::map(page, page));
    char* const region = static_cast<char*>(platform::reserve(1_MiB));
    ASSERT_TRUE(neighbour != nullptr && region != nullptr);
    for (const std::ptrdiff_t earlier : distances) {
      EXPECT_GT(std::abs(earlier - (neighbour - region)), static_cast<std::ptrdiff_t>(page)) << "once in millions";
    }
    distances.push_back(neighbour - region);
    platform::unmap(neighbour, page);
  }
}

TEST(CONTRACT, resize_shrinks_and_grows_in_place) {
  char* const room = static_cast<char*>(platform::map(16 * page, page));
  ASSERT_NE(room, nullptr);
  const std::size_t before = platform::mapped_bytes();
  ASSERT_TRUE(platform::resize(room, 16 * page, 4 * page));
  EXPECT_EQ(platform::mapped_bytes(), before - 12 * page);
  EXPECT_FALSE(is_accessible(room + 4 * page));
  EXPECT_FALSE(is_accessible(room + 15 * page));
  std::memset(room, 7, 4 * page);
  ASSERT_TRUE(platform::resize(room, 4 * page, 16 * page));
  EXPECT_EQ(platform::mapped_bytes(), before);
  EXPECT_EQ(room[4 * page - 1], 7);
  EXPECT_TRUE(is_zero(room + 4 * page, 12 * page));
  platform::unmap(room, 16 * page);
}

TEST(CONTRACT, resize_says_false_when_something_is_in_the_way) {
  char* const first = static_cast<char*>(platform::map(8 * page, page));
  ASSERT_NE(first, nullptr);
  const std::size_t before = platform::mapped_bytes();
  ASSERT_TRUE(platform::resize(first, 8 * page, 2 * page));
  char* const behind = first + 2 * page + platform::guard_bytes;
  void* const block = mmap(behind, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(block, behind);
  first[0] = 9;
  errno = 77;
  EXPECT_FALSE(platform::resize(first, 2 * page, 4 * page));
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(first[0], 9);
  EXPECT_FALSE(is_accessible(first + 2 * page));
  EXPECT_EQ(platform::mapped_bytes(), before - 6 * page);
  munmap(block, page);
  platform::unmap(first, 2 * page);
}

TEST(CONTRACT, what_was_resized_lies_between_guards) {
  char* const start = static_cast<char*>(platform::map(40 * page, 64_KiB));
  ASSERT_NE(start, nullptr);
  std::size_t bytes = 40 * page;
  for (const std::size_t new_bytes : {39 * page, 4 * page, 30 * page, page, 40 * page}) {
    ASSERT_TRUE(platform::resize(start, bytes, new_bytes));
    bytes = new_bytes;
    std::memset(start, 1, bytes);
    for (std::size_t away = 1; away < platform::guard_bytes; away += page) {
      EXPECT_FALSE(is_accessible(start - away));
      EXPECT_FALSE(is_accessible(start + bytes - 1 + away));
    }
  }
  platform::unmap(start, bytes);
  EXPECT_FALSE(is_mapped(start - platform::guard_bytes, bytes + 2 * platform::guard_bytes));
}

TEST(CONTRACT, move_carries_the_pages) {
  const std::size_t before = platform::mapped_bytes();
  char* const source = static_cast<char*>(platform::map(4 * page, page));
  char* const target = static_cast<char*>(platform::map(16 * page, 64_KiB));
  ASSERT_TRUE(source != nullptr && target != nullptr);
  std::memset(source, 3, 4 * page);
  ASSERT_TRUE(platform::move(source, 4 * page, target, 16 * page));
  EXPECT_EQ(platform::mapped_bytes(), before + 16 * page);
  EXPECT_FALSE(is_mapped(source - platform::guard_bytes, 4 * page + 2 * platform::guard_bytes));
  EXPECT_EQ(target[0], 3);
  EXPECT_FALSE(is_accessible(target - 1));
  EXPECT_FALSE(is_accessible(target + 16 * page));
  EXPECT_EQ(target[4 * page - 1], 3);
  EXPECT_TRUE(is_zero(target + 4 * page, 12 * page));
  target[16 * page - 1] = 1;
  platform::unmap(target, 16 * page);
}

TEST(CONTRACT, a_move_that_fails_leaves_the_pages_where_they_are) {
  const std::size_t before = platform::mapped_bytes();
  char* const source = static_cast<char*>(platform::map(4 * page, page));
  char* const target = static_cast<char*>(platform::map(16 * page, page));
  ASSERT_TRUE(source != nullptr && target != nullptr);
  source[0] = 3;
  // The kernel moves one mapping, not several.
  ASSERT_EQ(mprotect(source + 2 * page, page, PROT_READ), 0);
  errno = 77;
  EXPECT_FALSE(platform::move(source, 4 * page, target, 16 * page));
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(source[0], 3);
  platform::unmap(source, 4 * page);
  EXPECT_EQ(platform::mapped_bytes(), before);
}

// Kernels before 5.7 refuse the flag. QEMU's emulation of a process takes it, but for it the old page is gone.
bool kernel_moves_parts() {
  void* const probe = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mremap(probe, page, page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr) == MAP_FAILED) return false;
  unsigned char is_in_memory = 0;
  return mincore(probe, page, &is_in_memory) == 0;
}

TEST(CONTRACT, move_part_carries_the_pages_and_leaves_zeros) {
  if (!kernel_moves_parts()) GTEST_SKIP() << "this kernel moves no parts of mappings";
  const std::size_t before = platform::mapped_bytes();
  char* const source = static_cast<char*>(platform::map(12 * page, page));
  char* const target = static_cast<char*>(platform::map(16 * page, 64_KiB));
  ASSERT_TRUE(source != nullptr && target != nullptr);
  std::memset(source, 3, 12 * page);
  ASSERT_TRUE(platform::move_part(source + 4 * page, 4 * page, target, 16 * page));
  EXPECT_EQ(platform::mapped_bytes(), before + 28 * page);
  EXPECT_EQ(source[4 * page - 1], 3);
  EXPECT_TRUE(is_zero(source + 4 * page, 4 * page));
  EXPECT_EQ(source[8 * page], 3);
  EXPECT_EQ(target[0], 3);
  EXPECT_EQ(target[4 * page - 1], 3);
  EXPECT_TRUE(is_zero(target + 4 * page, 12 * page));
  EXPECT_FALSE(is_accessible(target - 1));
  EXPECT_FALSE(is_accessible(target + 16 * page));
  std::memset(source, 4, 12 * page);
  char* const second = static_cast<char*>(platform::map(32 * page, 64_KiB));
  ASSERT_NE(second, nullptr);
  ASSERT_TRUE(platform::move(target, 16 * page, second, 32 * page));  // it is one mapping
  EXPECT_EQ(second[4 * page - 1], 3);
  platform::unmap(source, 12 * page);
  platform::unmap(second, 32 * page);
  EXPECT_EQ(platform::mapped_bytes(), before);
}

TEST(CONTRACT, a_part_that_does_not_move_keeps_its_pages) {
  const std::size_t before = platform::mapped_bytes();
  char* const source = static_cast<char*>(platform::map(4 * page, page));
  ASSERT_NE(source, nullptr);
  std::memset(source, 3, 4 * page);
  const auto expect_failure = [=] {
    char* const target = static_cast<char*>(platform::map(16 * page, page));
    ASSERT_NE(target, nullptr);
    errno = 77;
    EXPECT_FALSE(platform::move_part(source, 2 * page, target, 16 * page));
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(source[0], 3);
    EXPECT_EQ(source[2 * page - 1], 3);
    EXPECT_FALSE(is_mapped(target - platform::guard_bytes, 16 * page + 2 * platform::guard_bytes));
    EXPECT_EQ(platform::mapped_bytes(), before + 4 * page);
  };
  // The sanitizers' mlock() does nothing.
  ASSERT_EQ(syscall(SYS_mlock, source + page, page), 0);
  expect_failure();  // the kernel moves one mapping, not several
  ASSERT_EQ(syscall(SYS_mlock, source, 4 * page), 0);
  expect_failure();
  if (!kernel_moves_parts()) {
    ASSERT_EQ(syscall(SYS_munlock, source, 4 * page), 0);
    expect_failure();
  }
  platform::unmap(source, 4 * page);
}

TEST(CONTRACT, purge_gives_pages_back_and_they_read_as_zero) {
  char* const start = static_cast<char*>(platform::map(16 * page, page));
  ASSERT_NE(start, nullptr);
  std::memset(start, 1, 16 * page);
  const auto before = platform::purge_totals();
  ASSERT_TRUE(platform::purge(start + 4 * page, 8 * page));
  EXPECT_EQ(platform::purge_totals().runs, before.runs + 1);
  EXPECT_EQ(platform::purge_totals().bytes, before.bytes + 8 * page);
  EXPECT_FALSE(is_resident(start + 4 * page, page));
  EXPECT_TRUE(is_zero(start + 4 * page, 8 * page));
  EXPECT_EQ(start[4 * page - 1], 1);
  EXPECT_EQ(start[12 * page], 1);
  platform::unmap(start, 16 * page);
}

TEST(CONTRACT, prefault_touches_and_keeps) {
  char* const start = static_cast<char*>(platform::map(64 * page, page));
  ASSERT_NE(start, nullptr);
  start[5] = 5;
  start[63 * page] = 6;
  EXPECT_FALSE(is_resident(start, 64 * page));
  ASSERT_TRUE(platform::prefault(start, 64 * page));
  EXPECT_TRUE(is_resident(start, 64 * page));
  EXPECT_EQ(start[5], 5);
  EXPECT_EQ(start[63 * page], 6);
  EXPECT_EQ(start[page], 0);
  platform::unmap(start, 64 * page);
}

TEST(CONTRACT, calls_are_counted_by_kind) {
  const auto before = platform::system_calls();
  char* const start = static_cast<char*>(platform::map(2 * page, page));
  ASSERT_NE(start, nullptr);
  platform::advise_huge(start, 2 * page, false);
  ASSERT_TRUE(platform::purge(start, page));
  ASSERT_TRUE(platform::resize(start, 2 * page, page));
  platform::unmap(start, page);
  char* const region = static_cast<char*>(platform::reserve(page));
  ASSERT_TRUE(platform::make_writable(region, page));
  const auto after = platform::system_calls();
  EXPECT_EQ(after.mmap, before.mmap + 4);  // the mapping, the guard of what shrank, the region and its usual place
  EXPECT_EQ(after.munmap, before.munmap + 3);
  EXPECT_EQ(after.mremap, before.mremap);
  EXPECT_EQ(after.madvise, before.madvise + 2);
  EXPECT_EQ(after.mprotect, before.mprotect + 2);
}

TEST(CONTRACT, a_thread_has_the_kernels_number) {
  EXPECT_EQ(platform::thread_number(), static_cast<std::uint32_t>(gettid()));
  std::uint32_t other_number = 0;
  std::thread([&] { other_number = platform::thread_number(); }).join();
  EXPECT_NE(other_number, platform::thread_number());
  EXPECT_NE(other_number, 0u);
}

TEST(CONTRACT, the_clock_does_not_go_back) {
  const std::uint64_t first = platform::now_ms();
  EXPECT_GE(platform::now_ms(), first);
}

TEST(CONTRACT, sleep_takes_its_time) {
  const std::uint64_t first = platform::now_ms();
  errno = 77;
  platform::sleep_ms(20);
  EXPECT_EQ(errno, 77);
  EXPECT_GE(platform::now_ms(), first + 20 - 10);  // the clock may be a tick or two behind
}

TEST(CONTRACT, wait_returns_at_once_when_the_word_differs) {
  const std::uint32_t word = 1;
  errno = 77;
  platform::wait(&word, 2);
  EXPECT_EQ(errno, 77);
}

TEST(CONTRACT, sleep_while_returns_at_once_when_the_word_differs) {
  const std::uint32_t word = 1;
  errno = 77;
  platform::sleep_while(&word, 2, 3'600'000);
  EXPECT_EQ(errno, 77);
}

TEST(CONTRACT, sleep_while_ends_with_its_time) {
  const std::uint32_t word = 1;
  errno = 77;
  platform::sleep_while(&word, 1, 5);
  EXPECT_EQ(errno, 77);
}

/// Waits in another thread until the word changes, and wakes that thread.
template <class Wait>
void end_wait(Wait wait) {
  std::atomic<std::uint32_t> word{0};
  const auto* const plain = reinterpret_cast<const std::uint32_t*>(&word);
  std::thread sleeper([&] {
    while (word.load() == 0) wait(plain);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  word = 1;
  platform::wake_one(plain);
  sleeper.join();
}

TEST(CONTRACT, wake_one_ends_a_wait) {
  end_wait([](const std::uint32_t* word) { platform::wait(word, 0); });
}

TEST(CONTRACT, wake_one_ends_a_sleep) {
  end_wait([](const std::uint32_t* word) { platform::sleep_while(word, 0, 3'600'000); });
}

TEST(CONTRACT, no_dlclose_unmaps_a_program) { EXPECT_FALSE(platform::is_unloadable()); }

}  // namespace
