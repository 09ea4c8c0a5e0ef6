// Versions are replaced while they are read: tests which one a reader sees, when it is freed, and the statistics.
#include <tarn/reloadable.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "platform/threads.hpp"
#include "reclaim/readers.hpp"
#include "support/call_filter.h"
#include "support/child.hpp"
#include "support/worker.hpp"

namespace {

using namespace std::chrono_literals;
using tarn::reloadable;

struct instance_counter {
  explicit instance_counter(int value_) : value(value_) {
    if (value < 0) throw std::invalid_argument("negative");
    ++alive;
  }
  ~instance_counter() {
    --alive;
    ended_in = std::this_thread::get_id();
  }
  int value;
  static inline std::atomic<int> alive{0};
  static inline std::thread::id ended_in;
};

int value_of(const reloadable<instance_counter>& versions) {
  return versions.with([](const instance_counter& c) { return c.value; });
}

TEST(reloadable, a_snapshot_sees_one_version) {
  reloadable<instance_counter> number(1);
  {
    const auto before = number.snapshot();
    EXPECT_EQ(before->value, 1);
    EXPECT_EQ(before.version(), 1u);
    number.publish(2);
    const auto after = number.snapshot();
    EXPECT_EQ(before->value, 1);
    EXPECT_EQ((*after).value, 2);
    EXPECT_EQ(after.version(), 2u);
    EXPECT_EQ(number.version_number(), 2u);
    EXPECT_EQ(value_of(number), 2);
    EXPECT_EQ(number.collect(), 1u);
    EXPECT_EQ(instance_counter::alive, 2);
  }
  EXPECT_EQ(number.collect(), 0u);
  EXPECT_EQ(instance_counter::alive, 1);
}

TEST(reloadable, an_unread_version_ends_with_the_publish) {
  reloadable<instance_counter> number(1);
  for (int round = 2; round < 100; ++round) {
    number.publish(round);
    EXPECT_EQ(instance_counter::alive, 1);
  }
}

TEST(reloadable, a_parked_reader_costs_the_version_that_it_reads) {
  reloadable<instance_counter> number(1), untouched(1);
  const auto parked = number.snapshot();
  for (int round = 2; round < 10'000; ++round) {
    number.publish(round);
    untouched.publish(round);
    EXPECT_EQ(instance_counter::alive, 3);
  }
  EXPECT_EQ(parked->value, 1);
}

TEST(reloadable, the_end_of_a_version_is_the_writers_to_pay) {
  reloadable<instance_counter> number(1);
  support::worker reader;
  reader.run([&] {
    const auto now = number.snapshot();
    support::worker writer;
    writer.run([&] { number.publish(2); });
  });
  EXPECT_EQ(instance_counter::alive, 2) << "the reader left, and freed nothing";
  number.publish(3);
  EXPECT_EQ(instance_counter::alive, 1);
  EXPECT_EQ(instance_counter::ended_in, std::this_thread::get_id());
}

TEST(reloadable, what_throws_leaves_all_as_it_is) {
  reloadable<instance_counter> number(1);
  EXPECT_THROW(number.publish(-1), std::invalid_argument);
  EXPECT_EQ(number.version_number(), 1u);
  EXPECT_EQ(number.snapshot().version(), 1u);
  EXPECT_EQ(instance_counter::alive, 1);
  EXPECT_THROW(reloadable<instance_counter>(-1), std::invalid_argument);
}

TEST(reloadable, each_thread_may_keep_a_version) {
  reloadable<instance_counter> number(0);
  constexpr int readers = 40;
  std::atomic<int> held_versions{0};
  std::atomic<bool> must_stop{false};
  std::vector<std::thread> threads;
  for (int reader = 0; reader < readers; ++reader) {
    threads.emplace_back([&] {
      const auto own_snapshot = number.snapshot();
      ++held_versions;
      held_versions.notify_all();
      must_stop.wait(false);
    });
    for (int now = held_versions; now != reader + 1; now = held_versions) held_versions.wait(now);
    EXPECT_TRUE(number.try_publish(reader + 1));
  }
  EXPECT_EQ(number.collect(), static_cast<std::size_t>(readers));
  must_stop = true;
  must_stop.notify_all();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(number.collect(), 0u);
  std::vector<tarn::snapshot<instance_counter>> hoard;  // of one thread
  while (hoard.size() < 1000) {
    hoard.push_back(number.snapshot());
    if (!number.try_publish(1)) break;
  }
  EXPECT_LE(hoard.size(), 16u + 2u);
}

TEST(reloadable, retired_versions_are_bounded_and_their_readers_named) {
  reloadable<instance_counter> number(tarn::reload_options{.name = "number", .max_retired = 2}, 1);
  support::worker slow;
  slow.run([] { pthread_setname_np(pthread_self(), "slow \"one\""); });
  std::vector<tarn::snapshot<instance_counter>> parked;
  const auto park = [&] { parked.push_back(number.snapshot()); };
  std::uint32_t thread = 0;
  slow.run([&] {
    thread = static_cast<std::uint32_t>(gettid());
    park();
  });
  number.publish(2);
  number.publish(3);
  slow.run(park);
  EXPECT_EQ(number.collect(), 1u) << "2 was read by nobody";
  number.publish(4);
  EXPECT_FALSE(number.try_publish(5));
  try {
    number.publish(5);
    FAIL();
  } catch (const tarn::publish_refused& refused) {
    const std::string text = refused.what();
    const std::string start =
        "tarn: reloadable \"number\": not published: 2 replaced versions are still read, the oldest, version 1, by "
        "thread " +
        std::to_string(thread) + " \"slow \"one\"\" for ";
    EXPECT_EQ(text.substr(0, start.size()), start);
  }
  EXPECT_EQ(value_of(number), 4);
  EXPECT_EQ(instance_counter::alive, 3);
  const std::vector<tarn::parked_reader> readers = number.parked_readers();
  ASSERT_EQ(readers.size(), 2u);
  EXPECT_EQ(readers[0].version, 1u);
  EXPECT_EQ(readers[1].version, 3u);
  EXPECT_EQ(readers[0].thread, thread);
  EXPECT_EQ(readers[0].name, "slow \"one\"");
  EXPECT_GE(readers[0].since, readers[1].since);
  EXPECT_FALSE(number.wait_for_readers(1ms));
  parked.clear();
  EXPECT_TRUE(number.wait_for_readers(10s));
  number.publish(5);
  EXPECT_EQ(instance_counter::alive, 1);
}

TEST(reloadable, a_thread_may_hold_any_number_of_snapshots_of_any_number_of_objects) {
  std::vector<std::unique_ptr<reloadable<instance_counter>>> objects;
  std::vector<tarn::snapshot<instance_counter>> snapshots;
  for (int index = 0; index < 50; ++index) {
    objects.push_back(std::make_unique<reloadable<instance_counter>>(index));
    snapshots.push_back(objects.back()->snapshot());
    snapshots.push_back(objects.back()->snapshot());
  }
  for (auto& object : objects) object->publish(100);
  EXPECT_EQ(instance_counter::alive, 100);
  for (std::size_t index = 0; index < snapshots.size(); index += 2) {
    EXPECT_EQ(snapshots[index]->value, static_cast<int>(index / 2));
    EXPECT_EQ(snapshots[index + 1]->value, static_cast<int>(index / 2));
  }
  snapshots.erase(snapshots.begin(), snapshots.begin() + 50);  // the order differs from that of the snapshots
  for (auto& object : objects) object->collect();
  EXPECT_EQ(instance_counter::alive, 75);
  snapshots.clear();
  for (auto& object : objects) EXPECT_EQ(object->collect(), 0u);
}

std::size_t count_blocks() {
  std::size_t count = 0;
  for (const auto* block = tarn::reclaim::all_blocks(); block != nullptr; block = block->next) ++count;
  return count;
}

TEST(reloadable, blocks_of_places_are_used_again) {
  reloadable<instance_counter> number(1);
  std::thread([&] { value_of(number); }).join();
  const std::size_t before = count_blocks();
  for (int round = 0; round < 100; ++round) {
    std::thread([&] { EXPECT_EQ(number.snapshot().version(), 1u); }).join();
  }
  EXPECT_EQ(count_blocks(), before);
}

// Each snapshot after the first ones takes a block, which is examined by no later one while the snapshot lives.
TEST(reloadable, finding_a_block_costs_the_same_among_many) {
  const reloadable<instance_counter> number(1);
  const auto examined = [] {
    const tarn::platform::locked hold(tarn::reclaim::writers_lock());
    return tarn::reclaim::examined_blocks();
  };
  std::vector<decltype(number.snapshot())> snapshots;
  for (const std::size_t count : {100u, 1'000u, 10'000u}) {
    const std::uint64_t before = examined();
    while (snapshots.size() < count) snapshots.push_back(number.snapshot());
    EXPECT_LE(examined() - before, 16 * count);
  }
  const std::size_t before = count_blocks();
  for (int turn = 0; turn < 20'000; ++turn) value_of(number);
  EXPECT_LE(count_blocks(), before + 1);
  for (std::size_t index = 0; index < snapshots.size(); index += 10) {
    const auto snapshot = std::move(snapshots[index]);
  }
  for (std::size_t index = 0; index < snapshots.size(); index += 10) snapshots[index] = number.snapshot();
  EXPECT_LE(count_blocks(), before + before / 8) << "blocks between those in use are found again";
}

TEST(reloadable, a_snapshot_may_outlive_its_thread) {
  reloadable<instance_counter> number(1);
  std::vector<tarn::snapshot<instance_counter>> snapshots;
  std::thread([&] { snapshots.push_back(number.snapshot()); }).join();
  number.publish(2);
  for (int round = 0; round < 10; ++round) {  // the next user of the block must not get this slot
    std::thread([&] { EXPECT_EQ(value_of(number), 2); }).join();
  }
  EXPECT_EQ(snapshots[0]->value, 1);
  EXPECT_EQ(number.collect(), 1u);
  snapshots.clear();
  EXPECT_EQ(number.collect(), 0u);
}

reloadable<instance_counter>* late_object = nullptr;
struct reads_at_the_end {
  ~reads_at_the_end() {
    const auto first = late_object->snapshot();
    const auto two = late_object->snapshot();
    sum = first->value + two->value;
  }
  static inline int sum = 0;
};

TEST(reloadable, destructors_of_thread_locals_may_read) {
  reloadable<instance_counter> number(1);
  late_object = &number;
  std::thread([&] {
    static thread_local reads_at_the_end reader;
    static_cast<void>(reader);
    EXPECT_EQ(value_of(number), 1);
  }).join();
  EXPECT_EQ(reads_at_the_end::sum, 2);
  number.publish(2);
  EXPECT_EQ(instance_counter::alive, 1);
}

TEST(reloadable, ends_with_a_fault_while_it_is_read) {
  auto* const number = new reloadable<instance_counter>(tarn::reload_options{.name = "number"}, 1);
  const auto sum = support::in_child([&] {
    pthread_setname_np(pthread_self(), "main");
    const auto now = number->snapshot();
    delete number;
  });
  EXPECT_EQ(sum.signal, SIGABRT);
  const std::string start =
      "tarn: reloadable \"number\" at " + support::written(number) + " ends while version 1 is read by thread ";
  EXPECT_EQ(sum.error.substr(0, start.size()), start);
  EXPECT_NE(sum.error.find(" \"main\"\n"), std::string::npos) << sum;
  delete number;
}

// Returns the exit status of a child that runs `check` and exits with 0 if it returns true.
template <class Check>
int status_of_child(Check check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// The readers of a parent do not exist in its child and delay nothing there; those of the forking thread do exist.
TEST(reloadable, works_in_a_forked_child) {
  auto number = std::make_unique<reloadable<instance_counter>>(tarn::reload_options{.max_retired = 2}, 1);
  support::worker second_thread;
  std::vector<tarn::snapshot<instance_counter>> snapshots;
  second_thread.run([&] { snapshots.push_back(number->snapshot()); });
  number->publish(2);
  auto own_snapshot = std::make_unique<tarn::snapshot<instance_counter>>(number->snapshot());
  number->publish(3);
  EXPECT_EQ(instance_counter::alive, 3);
  const auto check = [&] {
    number->publish(4);  // the version of the second thread does not count: three are retired now
    bool is_good = instance_counter::alive == 3 && (*own_snapshot)->value == 2 && number->collect() == 1;
    is_good &= number->parked_readers().size() == 1 &&
               number->parked_readers()[0].thread == static_cast<std::uint32_t>(gettid());
#ifndef __SANITIZE_THREAD__  // it has no threads in such a child
    std::thread([&] { is_good &= value_of(*number) == 4; }).join();
#endif
    own_snapshot.reset();
    is_good &= number->wait_for_readers(std::chrono::seconds(0)) && instance_counter::alive == 2;
    number.reset();  // is no fault
    return is_good && instance_counter::alive == 1;
  };
  EXPECT_EQ(status_of_child(check), 0);
  EXPECT_EQ(number->collect(), 2u);
}

// Nobody can know whether the snapshot of another thread was moved to the forking one, so its version stays, and its
// slot is no other reader's.
TEST(reloadable, a_forked_child_keeps_snapshots_of_other_threads) {
  reloadable<instance_counter> number(1);
  support::worker second_thread;
  std::unique_ptr<tarn::snapshot<instance_counter>> moved;
  second_thread.run([&] { moved = std::make_unique<tarn::snapshot<instance_counter>>(number.snapshot()); });
  number.publish(2);
  const auto check = [&] {
    number.publish(3);
    bool is_good = instance_counter::alive == 2 && (*moved)->value == 1;
#ifndef __SANITIZE_THREAD__  // it has no threads in such a child
    support::worker stranger;
    std::unique_ptr<tarn::snapshot<instance_counter>> of_stranger;
    stranger.run([&] { of_stranger = std::make_unique<tarn::snapshot<instance_counter>>(number.snapshot()); });
    number.publish(4);
    is_good &= instance_counter::alive == 3;
    moved.reset();
    is_good &= number.collect() == 1 && instance_counter::alive == 2 && (*of_stranger)->value == 3;
    is_good &= number.parked_readers().size() == 1;
    stranger.run([&] { of_stranger.reset(); });
#else
    moved.reset();
#endif
    return is_good && number.collect() == 0 && instance_counter::alive == 1;
  };
  EXPECT_EQ(status_of_child(check), 0);
}

// A child of the child keeps them, too.
TEST(reloadable, a_grandchild_keeps_snapshots_of_other_threads) {
  reloadable<instance_counter> number(1);
  support::worker second_thread;
  std::unique_ptr<tarn::snapshot<instance_counter>> moved;
  second_thread.run([&] { moved = std::make_unique<tarn::snapshot<instance_counter>>(number.snapshot()); });
  const auto check = [&] {
    number.publish(2);
    const bool is_kept = instance_counter::alive == 2 && (*moved)->value == 1;
    moved.reset();
    return is_kept && number.collect() == 0 && instance_counter::alive == 1;
  };
  EXPECT_EQ(status_of_child([&] { return status_of_child(check) == 0 && check(); }), 0);
}

struct generation : tarn::detail::version_base {
  explicit generation(int number_) : unlinked(number_) {
    number = 1;
    destroy = [](tarn::detail::version_base* ended_version) noexcept {
      destroyed.push_back(static_cast<generation*>(ended_version)->unlinked);
      delete static_cast<generation*>(ended_version);
    };
  }
  static void give(tarn::detail::version_base& next, tarn::detail::version_base& ended_version) noexcept {
    std::swap(static_cast<generation&>(next).unlinked, static_cast<generation&>(ended_version).unlinked);
  }
  int unlinked;
  static inline std::vector<int> destroyed;
};

TEST(generations, end_in_their_order_with_what_was_unlinked_in_them) {
  const auto publish = [](tarn::detail::versions& times, int unlinked) {
    EXPECT_EQ(times.publish(new generation(unlinked)), tarn::detail::versions::outcome::published);
  };
  {
    tarn::detail::versions times("test", nullptr, 16, new generation(0), generation::give);
    publish(times, 1);
    EXPECT_EQ(generation::destroyed, std::vector({1})) << "what was unlinked in the first one ends with it";
    {
      const tarn::detail::read_section second(times.current());
      publish(times, 2);
      publish(times, 3);
      EXPECT_EQ(times.collect(), 2u) << "the reader of the second one may have what was unlinked in the third one";
      EXPECT_EQ(generation::destroyed.size(), 1u);
    }
    EXPECT_EQ(times.collect(), 0u);
    EXPECT_EQ(generation::destroyed.size(), 3u);
  }
  EXPECT_EQ(generation::destroyed.size(), 4u);
}

// A read of a generation never changes its thread, so that those of the parent's other threads hold up nothing.
TEST(generations, those_of_other_threads_end_in_a_forked_child) {
  tarn::detail::versions times("test", nullptr, 2, new generation(0), generation::give);
  support::worker second_thread;
  std::optional<tarn::detail::read_section> reading;
  second_thread.run([&] { reading.emplace(times.current()); });
  const auto check = [&] {
    for (int unlinked = 1; unlinked <= 5; ++unlinked) {
      if (times.publish(new generation(unlinked)) != tarn::detail::versions::outcome::published) return false;
    }
    return times.collect() == 0;
  };
  EXPECT_EQ(status_of_child(check), 0);
  second_thread.run([&] { reading.reset(); });
}

// Returns 0 if no version is destroyed once the kernel refuses barriers. The calling process is restricted from then
// on.
int publish_without_barriers() {
  {
    reloadable<instance_counter> number(tarn::reload_options{.name = "routes", .max_retired = 2}, 1);
    if (value_of(number) != 1) return 1;
    number.publish(2);
    if (instance_counter::alive != 1 || refuse_call(SYS_membarrier, EPERM) != 0) return 2;
    number.publish(3);
    if (instance_counter::alive != 2 || number.collect() != 1) return 3;  // a thread may read the second one, unseen
    number.publish(4);
    try {
      number.publish(5);
      return 4;
    } catch (const tarn::publish_refused& refused) {
      if (refused.what() !=
          std::string("tarn: reloadable \"routes\": not published: 2 replaced versions are kept, because the kernel "
                      "now refuses membarrier(2), which tells whether they are read: allow it in the seccomp filter, "
                      "or set the filter before the first read")) {
        std::fputs(refused.what(), stderr);
        return 5;
      }
    }
    if (instance_counter::alive != 3 || value_of(number) != 4 || !number.parked_readers().empty()) return 6;
  }
  return instance_counter::alive;  // at destruction nobody may read
}

// A program may restrict itself after its first publish, as sandboxes do.
TEST(reloadable, keeps_all_versions_once_the_kernel_refuses_barriers) {
  ASSERT_TRUE(tarn::platform::prepare_barriers());
  EXPECT_EQ(support::in_child(publish_without_barriers), support::ending());
}

TEST(reloadable, readers_share_no_cache_line) {
  EXPECT_EQ(sizeof(tarn::reclaim::reader_block) % 64, 0u);
  EXPECT_EQ(alignof(reloadable<int>), 64u);
}

}  // namespace
