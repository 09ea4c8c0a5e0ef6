// A part whose handlers come late misses the fork that is under way: its child begins with a lock that a thread which
// the child does not have took in the meantime. So each part registers its handlers when it is loaded.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include <tarn/io/journal.hpp>
#include <tarn/io/memo.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/shared.hpp>
#include <tarn/shared_pool.hpp>

extern "C" {
extern void* __dso_handle;
int __register_atfork(void (*before)(), void (*in_parent)(), void (*in_child)(), void* library);
}

namespace {

std::atomic<bool> is_loaded{false};
std::atomic<int> registrations{0};
std::atomic<int> late_registrations{0};

}  // namespace

// Stands in for the function of the C library, which does the same.
extern "C" int pthread_atfork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  ++(is_loaded ? late_registrations : registrations);
  return __register_atfork(before, in_parent, in_child, &__dso_handle);
}

namespace {

class forks : public testing::Test {
 protected:
  static void SetUpTestSuite() { is_loaded = true; }
};

TEST_F(forks, find_the_handlers_of_every_part_from_the_start) {
  ASSERT_GE(registrations, 4) << "the parts call the function above";

  const tarn::reloadable<int> setting(1);
  EXPECT_EQ(setting.with([](const int& value) { return value; }), 1);
  EXPECT_EQ(late_registrations, 0) << "the readers";

  tarn::shared_pool<int> pool;
  pool.destroy(pool.create(1));
  EXPECT_EQ(late_registrations, 0) << "the shared pools";

  tarn::shared<int> first(1);
  tarn::shared<int> second(1);
  first.with([&](int&) { second.with([](int& value) { ++value; }); });
  EXPECT_EQ(late_registrations, 0) << "the lock order";

  tarn::io::memo<int, int> answers([](const int& key) { return key; }, {.entries = 64});
  EXPECT_EQ(*answers.get(1), 1);
  EXPECT_EQ(late_registrations, 0) << "the memos";

  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tarn-forks-" + std::to_string(::getpid()) + ".journal");
  tarn::io::journal(path, {.bytes = 64 * 1024, .chunk = 4096, .lanes = 1}).append("line");
  std::filesystem::remove(path);
  EXPECT_EQ(late_registrations, 0) << "the journals";
}

}  // namespace
