// Tests the start of the engine, which happens once in a process: each case runs this program again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bits.hpp"
#include "base/options.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/threads.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"
#include "support/child.hpp"
#include "support/current_heap.hpp"
#include "tarn/heap.hpp"

namespace {

using namespace tarn;
using namespace tarn::base::units;
using support::ending;
using support::give;
using support::take;
namespace fake = platform::fake;

/// Runs this program again with more in its environment, where it runs only the test `scene`.
ending run_again(const std::string& scene, const std::vector<std::pair<std::string, std::string>>& environment) {
  ending result = support::in_child([&] {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    setenv("SCENE", scene.c_str(), 1);
    execl("/proc/self/exe", "test_start", "--gtest_filter=scene.play", "--gtest_brief=1", nullptr);
    return 127;
  });
  result.error = std::regex_replace(result.error, std::regex(R"(tarn\[\d+\] exe: )"), "tarn[PID] PROGRAM: ");
  return result;
}

bool everything_is_refused() {
  try {
    static_cast<void>(current_heap());
    return false;
  } catch (const std::bad_alloc&) {
  }
  try {
    static_cast<void>(process_heap());
    return false;
  } catch (const std::bad_alloc&) {
  }
  try {
    const heap object;
    return false;
  } catch (const std::bad_alloc&) {
  }
  give(nullptr);
  static const int foreign = 0;
  return take(16) == nullptr && take(1_MiB) == nullptr && owner_of(&foreign) == nullptr;
}

int play(std::string_view scene) {
  if (scene == "refused") return everything_is_refused() && everything_is_refused() ? 0 : 1;
  if (scene == "started") {
    void* const block = take(100);
    give(block);
    return block != nullptr && platform::mapped_bytes() != 0 ? 0 : 1;
  }
  if (scene == "initial") {  // each thread's heap starts with memory that is touched already
    give(take(16));
    const std::uint64_t calls = fake::kernel_calls();
    if (fake::prefaulted_bytes() != 2_MiB) return 1;
    for (int round = 0; round < 1'000; ++round) static_cast<void>(take(1'000));
    return fake::kernel_calls() == calls ? 0 : 2;
  }
  if (scene == "no initial") {
    fake::set_available_memory(99_MiB);
    std::thread([] { give(take(16)); }).join();
    std::thread([] { give(take(16)); }).join();
    return fake::prefaulted_bytes() == 0 ? 0 : 1;
  }
  if (scene == "increment") {  // a segment is 8 MiB, and the next one again
    for (int round = 0; round < 20; ++round) static_cast<void>(take(1_MiB));
    std::size_t segments = 0;
    for (const fake::mapping& mapping : fake::mappings()) segments += mapping.bytes == 8_MiB ? 1 : 0;
    return segments == 3 ? 0 : 1;
  }
  if (scene == "limit") {
    std::size_t had = 0;
    while (take(100'000) != nullptr) had += 100'000;
    tarn::heap object;
    return had > 3_MiB && had <= 4_MiB && object.try_allocate(1_MiB) == nullptr ? 0 : 1;
  }
  if (scene == "at once") {
    void* const block = take(1_MiB);
    give(block);
    return platform::purge_totals().bytes >= 1_MiB ? 0 : 1;  // the records of the segment, which is empty then, go too
  }
  if (scene == "thread heaps") {  // two threads have heaps of their own; the right to one passes on when a thread ends
    const auto is_shared = [] { return threads::ready(detail::local_heap)->policy.is_shared(); };
    bool was_shared[4] = {is_shared()};
    std::thread([&] {
      was_shared[1] = is_shared();
      std::thread([&] { was_shared[2] = is_shared(); }).join();
    }).join();
    std::thread([&] { was_shared[3] = is_shared(); }).join();
    return !was_shared[0] && !was_shared[1] && was_shared[2] && !was_shared[3] ? 0 : 1;
  }
  if (scene == "thp") {
    give(take(1));
    return fake::huge_advices(true) == 1 ? 0 : 1;
  }
  return 3;
}

TEST(scene, play) {
  const char* const scene = std::getenv("SCENE");
  if (scene == nullptr) {
    GTEST_SKIP() << "for the other tests";
  }
  _exit(play(scene));
}

TEST(start, is_over_before_main) { EXPECT_GT(platform::system_calls().mmap, 0u); }

TEST(start, options_come_from_the_environment) {
  EXPECT_EQ(run_again("started", {}), ending{});
  EXPECT_EQ(run_again("initial", {{"TARN_INITIAL", "2M"}}), ending{});
  EXPECT_EQ(run_again("increment", {{"TARN_INCREMENT", "8M"}}), ending{});
  EXPECT_EQ(run_again("limit", {{"TARN_LIMIT", "4M"}}), ending{});
  EXPECT_EQ(run_again("at once", {{"TARN_PURGE_DELAY_MS", "0"}}), ending{});
  EXPECT_EQ(run_again("thread heaps", {{"TARN_THREAD_HEAPS", "2"}}), ending{});
  EXPECT_EQ(run_again("thp", {{"TARN_THP", "on"}}), ending{});
}

TEST(start, initial_memory_that_is_missing_is_reported_once) {
  EXPECT_EQ(run_again("no initial", {{"TARN_INITIAL", "100M"}}),
            (ending{.signal = 0,
                    .status = 0,
                    .error = "tarn[PID] PROGRAM: option TARN_INITIAL: there is no memory for 104857600 bytes; threads "
                             "start without\n"}));
}

TEST(start, a_malformed_option_is_reported_once) {
  EXPECT_EQ(run_again("started", {{"TARN_PURGE_DELAY_MS", "abc"}}),
            (ending{.signal = 0,
                    .status = 0,
                    .error = "tarn[PID] PROGRAM: option TARN_PURGE_DELAY_MS=abc: not a number of milliseconds from 0 "
                             "to 3600000; 500 is used\n"}));
}

// Without address space for its tables the engine refuses everything, and reports it in the way of each function.
TEST(start, fails_in_order_whichever_request_fails) {
  int failed = 0;
  for (int n = 1; n <= 4; ++n) {
    const ending refused = run_again("refused", {{"FAKE_FAIL_REQUEST", std::to_string(n)}});
    const ending started = run_again("started", {{"FAKE_FAIL_REQUEST", std::to_string(n)}});
    EXPECT_TRUE(refused == ending{} || started == ending{}) << n << "\n" << refused << "\n" << started;
    EXPECT_EQ(refused.signal, 0) << n;
    EXPECT_EQ(started.signal, 0) << n;
    failed += refused == ending{} ? 1 : 0;
  }
  EXPECT_GE(failed, 1);
}

}  // namespace
