// Tests what threads did and when, on recordings made by hand.
#include "profiler/findings/time/lanes.hpp"

#include <gtest/gtest.h>

namespace tarn::analyse {
namespace {

std::vector<code_location> stack_of(std::initializer_list<const char*> functions) {
  std::vector<code_location> stack;
  for (const char* function : functions)
    stack.push_back({.function = function, .module = "/lib/x86_64-linux-gnu/libc.so.6"});
  stack.push_back({.function = "serve(int)", .file = "serve.cpp", .line = 7, .module = "/home/program"});
  stack.push_back({.function = "pthread_mutex_lock", .module = "/lib/x86_64-linux-gnu/libc.so.6"});
  return stack;
}

TEST(lanes, the_function_of_the_c_library_tells_the_state) {
  struct expectation {
    std::vector<code_location> stack;
    lane_state state;
    const char* call;
  };
  for (const auto& [stack, state, call] : std::vector<expectation>{
           {stack_of({"futex_wait", "__GI___lll_lock_wait", "lll_mutex_lock_optimized", "___pthread_mutex_lock"}),
            lane_state::lock, "pthread_mutex_lock"},
           {stack_of({"__futex_abstimed_wait_common64", "___pthread_cond_wait"}), lane_state::idle,
            "pthread_cond_wait"},
           {stack_of({"__GI___lll_lock_wait", "__pthread_mutex_cond_lock", "___pthread_cond_wait"}), lane_state::lock,
            "pthread_mutex_cond_lock"},
           {stack_of({"__GI___clock_nanosleep", "__GI___nanosleep"}), lane_state::sleep, "clock_nanosleep"},
           {stack_of({"__GI___libc_read", "_IO_file_underflow"}), lane_state::kernel, "read"},
           {stack_of({"epoll_wait"}), lane_state::idle, "epoll_wait"},
           {stack_of({"", "_IO_getc"}), lane_state::kernel, "IO_getc"},
           {stack_of({}), lane_state::kernel, "page fault"},
           {{}, lane_state::unknown, ""},
       }) {
    const wait_kind judged = wait_kind_of(stack);
    EXPECT_EQ(judged.state, state) << call;
    EXPECT_EQ(judged.call, call);
  }
}

// One thread that runs in the first of four intervals, and then waits where no stack says for what.
struct waiting_thread {
  waiting_thread() {
    recording.images = 1;
    recording.threads = {{.id = 1}, {.id = 2}};
    recording.sites = {{}, {0, {0x10}}};
    recording.locks = {{}, {.site = 1}};
    recording.clock = {1, 1};
    format::cpu_counts counts{};
    counts[format::running_ns] = 100;
    counts[format::waiting_ns] = 300;
    recording.cpu.cells[{0, 0}] = counts;
    for (std::uint32_t index = 0; index < 4; ++index)
      course.intervals.push_back({index * 100, index * 100 + 100, 0, 0});
    auto& points = course.cpu[{0, 0}];
    points.push_back({0, {100, 0, 0, 0}});
    for (std::uint32_t index = 1; index < 4; ++index) points.push_back({index, {0, 0, 100, 0}});
  }
  lane only_lane() {
    symbols names(recording);
    lane_findings findings = find_lanes(recording, names, course);
    return findings.lanes.empty() ? lane() : findings.lanes.front();
  }

  format::recording recording;
  history course;
};

using points = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

TEST(lanes, time_without_a_stack_is_not_known) {
  const lane lane = waiting_thread().only_lane();
  ASSERT_EQ(lane.parts.size(), 2U);
  EXPECT_EQ(lane.parts[0].state, lane_state::running);
  EXPECT_EQ(lane.parts[0].intervals, (points{{0, 100}}));
  EXPECT_EQ(lane.parts[1].state, lane_state::unknown);
  EXPECT_EQ(lane.parts[1].intervals, (points{{1, 100}, {2, 100}, {3, 100}}));
  EXPECT_EQ(lane.sum(lane_state::unknown), 300U);
}

TEST(lanes, a_holder_that_is_known_at_the_end_held_the_lock_before) {
  waiting_thread thread;
  thread.recording.acquisitions[{1, 0, 1}][format::wait_ticks] = 250;
  thread.recording.waits[{1, 0, 1, 1, 1}] = {1, 220};
  auto& waited = thread.course.locks[{1, 0, 1}];
  for (const auto& [interval, ns] : points{{1, 50}, {2, 100}, {3, 100}})
    waited.push_back({interval, {0, 0, ns, 0, 0, 0}});
  thread.course.waits[{1, 0, 1, 1, 1}] = {{3, {1, 220}}};
  const lane lane = thread.only_lane();
  EXPECT_EQ(lane.sum(lane_state::lock), 250U);
  EXPECT_EQ(lane.sum(lane_state::unknown), 50U);
  for (const lane_part& part : lane.parts) {
    if (part.state == lane_state::unknown) {
      EXPECT_EQ(part.intervals, (points{{1, 50}}));
    }
    if (part.state != lane_state::lock) continue;
    EXPECT_EQ(part.site, 1U);
    EXPECT_EQ(part.intervals, part.holder ? (points{{1, 20}, {2, 100}, {3, 100}}) : (points{{1, 30}}));
    EXPECT_EQ(part.holder.value_or(1), 1U);
  }
  ASSERT_EQ(lane.parts.size(), 4U);
}

TEST(lanes, time_that_moves_to_another_state_leaves_no_gap) {
  waiting_thread thread;
  thread.course.cpu[{0, 0}] = {{0, {100, 0, 0, 0}}, {1, {0, 130, static_cast<std::uint64_t>(-30), 0}}};
  const lane lane = thread.only_lane();
  ASSERT_EQ(lane.parts.size(), 2U);
  EXPECT_EQ(lane.parts[1].state, lane_state::runnable);
  EXPECT_EQ(lane.parts[1].intervals, (points{{1, 100}}));
}

}  // namespace
}  // namespace tarn::analyse
