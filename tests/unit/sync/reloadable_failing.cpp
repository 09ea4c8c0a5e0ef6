// Reads without memory, over the platform that fails on request.
#include <gtest/gtest.h>

#include <new>
#include <thread>
#include <vector>

#include <tarn/reloadable.hpp>

#include "platform/fake/platform.hpp"

namespace {

namespace fake = tarn::platform::fake;
using tarn::reloadable;

// The first read of a process requests a page, and so does a read that needs more slots than there are.
TEST(reloadable_failing, a_read_throws_and_the_next_one_is_good) {
  reloadable<int> number(7);
  std::thread([&] {
    fake::fail_requests_from(1);
    EXPECT_THROW(static_cast<void>(number.snapshot()), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(number.snapshot()), std::bad_alloc);
    fake::reset();
    const auto now = number.snapshot();
    EXPECT_EQ(*now, 7);
  }).join();
}

TEST(reloadable_failing, places_run_out) {
  reloadable<int> number(7);
  std::vector<tarn::snapshot<int>> snapshots;
  snapshots.reserve(10'000);
  snapshots.push_back(number.snapshot());  // the thread has its slots
  fake::fail_requests_from(1);
  try {
    for (;;) snapshots.push_back(number.snapshot());
  } catch (const std::bad_alloc&) {
  }
  EXPECT_GE(snapshots.size(), tarn::detail::slots_per_thread);
  snapshots.pop_back();
  snapshots.push_back(number.snapshot());
  EXPECT_EQ(*snapshots.back(), 7);
  snapshots.clear();
  fake::reset();
  number.publish(8);
  EXPECT_EQ(number.collect(), 0u);
}

}  // namespace
