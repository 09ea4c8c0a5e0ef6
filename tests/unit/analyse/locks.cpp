// Tests which locks a report names, and with which remedy.
#include "profiler/findings/waits/locks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarn::analyse {
namespace {

using format::lock_counts;
using format::lock_type;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct facts {
  std::uint64_t acquisitions = 0, contended = 0, wait_ns = 0, held_ns = 0, shared = 0;
};
lock_counts counts_of(const facts& value) {
  lock_counts result{};
  result[format::acquisitions] = result[format::holds] = value.acquisitions;
  result[format::contended] = value.contended;
  result[format::wait_ticks] = result[format::longest_wait] = 2 * value.wait_ns;
  result[format::held_ticks] = 2 * value.held_ns;
  result[format::reader_acquisitions] = value.shared;
  return result;
}

// Has sites 1 and 2, threads 0 to 2, a clock of two ticks a nanosecond, and lasts one second.
format::recording recording_with(lock_type type, const facts& first, const facts& second) {
  format::recording recording;
  recording.threads.resize(3);
  recording.sites = {{}, {0, {0x1001, 0x2000}}, {0, {0x1002, 0x2000}}, {0, {0x1003, 0x2000}}};
  recording.locks = {{}, {0, type, 1, 0x1000}};
  recording.acquisitions[{1, 0, 1}] = counts_of(first);
  recording.acquisitions[{2, 1, 1}] = counts_of(second);
  recording.clock = {2, 1};
  recording.has_ended = true;
  recording.end.wall_us = 1'000'000;
  return recording;
}
lock_group only(const format::recording& recording) {
  const lock_findings findings = find_locks(recording);
  EXPECT_EQ(findings.groups.size(), 1U);
  return findings.groups.front();
}

TEST(locks, sums_are_over_sites_and_times_in_nanoseconds) {
  const lock_group group = only(recording_with(lock_type::mutex, {10, 1, 100, 300}, {20, 2, 700, 400}));
  EXPECT_EQ(group.sums[format::acquisitions], 30U);
  EXPECT_EQ(group.sums[format::wait_ticks], 800U);
  EXPECT_EQ(group.sums[format::longest_wait], 700U);
  EXPECT_EQ(group.sums[format::held_ticks], 700U);
  EXPECT_EQ(group.threads, 2U);
  ASSERT_EQ(group.sites.size(), 2U);
  EXPECT_EQ(group.sites.front().site, 2U) << "the longest waits are first";
  EXPECT_EQ(group.address, 0x1000U);
}

TEST(locks, are_acquired_by_the_threads_that_have_got_them) {
  format::recording recording = recording_with(lock_type::mutex, {1, 0, 0, 300}, {0, 0, 100, 0});
  recording.acquisitions[{2, 1, 1}][format::refused] = 1;
  EXPECT_EQ(only(recording).threads, 1U) << "the other one has given up";
  EXPECT_NE(only(recording).category, lock_category::one_thread) << "it has tried all the same";
}

TEST(locks, the_waits_for_holders_are_those_in_which_the_lock_was_not_free) {
  format::recording recording = recording_with(lock_type::mutex, {10, 1, 100, 300}, {20, 2, 700, 400});
  EXPECT_EQ(held_wait_ns(only(recording)), 800U) << "as in a recording that does not have the free times";
  recording.acquisitions[{1, 0, 1}][format::free_ticks] = 2 * 90;
  recording.acquisitions[{2, 1, 1}][format::free_ticks] = 2 * 600;
  EXPECT_EQ(held_wait_ns(only(recording)), 110U);
}

TEST(locks, errors_of_estimates_are_those_of_sums_of_independent_ones) {
  format::recording recording = recording_with(lock_type::mutex, {10, 1, 100, 300}, {20, 2, 700, 400});
  EXPECT_EQ(find_locks(recording).error, 0);
  EXPECT_EQ(only(recording).error, 0);
  recording.acquisitions[{1, 0, 1}][format::lock_spread] = 9;
  recording.acquisitions[{2, 1, 1}][format::lock_spread] = 16;
  recording.acquisitions[{2, 1, 1}][format::refused] = 20;
  const lock_group group = only(recording);
  EXPECT_NEAR(group.error, 1.96 * 5 / 50, 1e-9);
  EXPECT_NEAR(find_locks(recording).error, 1.96 * 5 / 50, 1e-9);
  ASSERT_EQ(group.sites.front().site, 2U);
  EXPECT_NEAR(group.sites.front().error, 1.96 * 4 / 40, 1e-9) << "of acquisitions and tries that gave up";
}

// Thread 1 waits for holds of thread 0, which sampling may have missed.
TEST(locks, are_held_as_often_as_a_thread_has_got_them_after_a_wait) {
  format::recording recording = recording_with(lock_type::mutex, {1}, {3, 3, 700, 0});
  recording.waits[{2, 1, 1, 1, 0}][format::waits] = 10;
  EXPECT_EQ(only(recording).sums[format::acquisitions], 13U);
  recording.acquisitions[{2, 1, 1}][format::refused] = 7;
  EXPECT_EQ(only(recording).sums[format::acquisitions], 6U) << "seven waits gave up, perhaps all for one hold";
  recording.acquisitions[{2, 1, 1}][format::refused] = 20;
  EXPECT_EQ(only(recording).sums[format::acquisitions], 4U);
}

TEST(locks, of_one_thread_are_only_presumed_by_samples) {
  format::recording recording = recording_with(lock_type::mutex, {200'000}, {0});
  recording.acquisitions.erase({2, 1, 1});
  EXPECT_THAT(only(recording).remedy, HasSubstr("one thread alone takes it"));
  recording.acquisitions[{1, 0, 1}][format::lock_spread] = 1;
  EXPECT_THAT(only(recording).remedy, HasSubstr("one thread alone was seen to take it"));
}

TEST(locks, stacks_that_differ_behind_the_library_are_one_site) {
  format::recording recording = recording_with(lock_type::mutex, {10, 1, 100, 300}, {20, 2, 700, 400});
  recording.modules = {{0, 0x1000, 0x1fff, 0, "/lib/libc.so.6", ""},
                       {0, 0x2000, 0x3000, 0, "/usr/lib/libold.so.1", ""}};
  recording.sites[1].frames = {0x1001, 0x2100, 0x2200};
  recording.sites[2].frames = {0x1001, 0x2100, 0x2300};
  EXPECT_EQ(only(recording).sites.size(), 1U);
  EXPECT_EQ(only(recording).sites.front().sums[format::acquisitions], 30U);
  EXPECT_EQ(only(recording).sites.front().site, 2U) << "the one with the most acquisitions stands for it";
  EXPECT_EQ(only(recording).library, "libold.so.1");
  recording.sites[2].frames = {0x1001, 0x2101, 0x2300};
  EXPECT_EQ(only(recording).sites.size(), 2U) << "another call of the program's";
}

TEST(locks, inside_of_an_installed_library_are_not_the_programs_to_change) {
  format::recording recording = recording_with(lock_type::mutex, {200'000}, {});
  recording.acquisitions.erase({2, 1, 1});
  EXPECT_THAT(only(recording).remedy, HasSubstr("transient"));
  recording.modules = {{0, 0x1000, 0x1fff, 0, "/usr/lib/libold.so.1", ""}};
  EXPECT_THAT(only(recording).remedy, HasSubstr("inside libold.so.1"));
}

TEST(locks, of_one_site_are_one_group) {
  format::recording recording = recording_with(lock_type::mutex, {10}, {});
  recording.locks.push_back({0, lock_type::mutex, 1, 0x2000});
  recording.locks.push_back({0, lock_type::spin, 1, 0x3000});
  recording.acquisitions[{1, 1, 2}] = counts_of({5});
  recording.acquisitions[{1, 1, 3}] = counts_of({1});
  recording.acquisitions.erase({2, 1, 1});
  const lock_findings findings = find_locks(recording);
  ASSERT_EQ(findings.groups.size(), 2U);
  EXPECT_EQ(findings.groups[0].locks, 2U);
  EXPECT_EQ(findings.groups[0].threads, 2U);
  EXPECT_EQ(findings.groups[0].category, lock_category::one_thread) << "each of them has one";
  EXPECT_EQ(findings.groups[0].remedy, "") << "too few";
  recording.acquisitions[{1, 0, 1}] = counts_of({200'000});
  EXPECT_THAT(find_locks(recording).groups[0].remedy, HasSubstr("transient"));
}

// Thread 1 waits for lock 1 from tick 1,000,000,000 on, when thread 0 has held it for a while. The clock stands at two
// seconds.
format::recording still_waiting() {
  format::recording recording = recording_with(lock_type::mutex, {}, {});
  recording.acquisitions[{1, 0, 1}][format::acquisitions] = 1;
  recording.acquisitions[{1, 0, 1}][format::held_ticks] = 3'500'000'000;
  recording.acquisitions[{2, 1, 1}] = {};
  recording.acquisitions[{2, 1, 1}][format::wait_ticks] = 3'000'000'000;
  recording.clock = {4'000'000'000, 2'000'000'000};
  recording.open_uses[{false, 1, 0, 1}] = 500'000'000;
  recording.open_uses[{true, 2, 1, 1}] = 1'000'000'000;
  return recording;
}

TEST(locks, a_wait_that_has_not_ended_is_one_for_its_holder) {
  const lock_group group = only(still_waiting());
  EXPECT_EQ(group.category, lock_category::contended);
  EXPECT_EQ(group.still_held, 1U);
  ASSERT_EQ(group.still_waiting.size(), 1U);
  const unfinished_wait& wait = group.still_waiting.front();
  EXPECT_EQ(wait.thread, 1U);
  EXPECT_EQ(wait.nanoseconds, 1'500'000'000U);
  EXPECT_TRUE(wait.has_holder);
  EXPECT_EQ(wait.holder, 0U);
  EXPECT_EQ(wait.holder_site, 1U);
  EXPECT_FALSE(wait.is_deadlock);
  EXPECT_THAT(group.remedy, AllOf(HasSubstr("held 1.8 s on average"), HasSubstr("do less while it is held")));
  ASSERT_EQ(group.sites.front().waits.size(), 1U);
  EXPECT_EQ(group.sites.front().waits.front().nanoseconds, 1'500'000'000U);
}

TEST(locks, the_last_of_two_holders_is_the_one_that_is_waited_for) {
  format::recording recording = still_waiting();
  recording.open_uses[{false, 3, 2, 1}] = 2'000'000'000;  // so thread 0 no longer holds it
  const lock_group group = only(recording);
  ASSERT_EQ(group.still_waiting.size(), 1U);
  EXPECT_EQ(group.still_waiting.front().holder, 2U);
}

TEST(locks, whose_holders_wait_for_each_other_are_a_deadlock) {
  format::recording recording = still_waiting();
  recording.locks.push_back({0, lock_type::mutex, 3, 0x2000});
  recording.acquisitions[{3, 1, 2}][format::acquisitions] = 1;
  recording.open_uses[{false, 3, 1, 2}] = 900'000'000;
  EXPECT_EQ(find_locks(recording).in_deadlock, 0U);
  recording.open_uses[{true, 1, 0, 2}] = 3'999'999'000;  // short, and in a deadlock nevertheless
  const lock_findings findings = find_locks(recording);
  EXPECT_EQ(findings.in_deadlock, 2U);
  for (const lock_group& group : findings.groups) EXPECT_THAT(group.remedy, HasSubstr("a deadlock"));
  recording.open_uses[{true, 1, 0, 2}] = 0;
  recording.locks[2].type = lock_type::condition;
  EXPECT_EQ(find_locks(recording).in_deadlock, 0U) << "a condition has no holder";
}

TEST(locks, a_thread_that_waits_for_itself_is_a_deadlock) {
  format::recording recording = still_waiting();
  recording.open_uses = {{{false, 1, 0, 1}, 500'000'000}, {{true, 2, 0, 1}, 1'000'000'000}};
  recording.acquisitions.erase({2, 1, 1});
  const lock_group group = only(recording);
  ASSERT_EQ(group.still_waiting.size(), 1U);
  EXPECT_TRUE(group.still_waiting.front().is_deadlock);
  EXPECT_EQ(group.category, lock_category::contended);
}

TEST(locks, nothing_is_said_of_holds_that_were_not_seen) {
  format::recording recording = recording_with(lock_type::mutex, {1}, {1, 3, 200'000'000});
  for (auto& [key, counts] : recording.acquisitions) counts[format::holds] = counts[format::held_ticks] = 0;
  EXPECT_THAT(only(recording).remedy, AllOf(Not(HasSubstr("held 0 ns")), Not(HasSubstr("interrupted"))));
  recording.acquisitions[{1, 0, 1}][format::holds] = 1'000;  // short ones, and one that explains the waits
  recording.acquisitions[{1, 0, 1}][format::held_ticks] = recording.acquisitions[{1, 0, 1}][format::longest_held] =
      400'000'000;
  recording.acquisitions[{1, 0, 1}][format::held_ticks] = 2'000'000;
  EXPECT_THAT(only(recording).remedy, AllOf(HasSubstr("held 200 ms at most"), Not(HasSubstr("interrupted"))));
}

TEST(locks, a_holder_is_called_interrupted_only_where_all_holds_were_timed) {
  format::recording recording = recording_with(lock_type::mutex, {100, 0, 0, 100}, {1, 1, 200'000'000, 1});
  EXPECT_THAT(only(recording).remedy, AllOf(HasSubstr("was interrupted"), Not(HasSubstr("unseen"))));
  recording.acquisitions[{1, 0, 1}][format::holds] -= 1;
  EXPECT_THAT(only(recording).remedy, HasSubstr("was interrupted or held it for longer, unseen"));
}

// They wait for one hold of another thread, all at once.
TEST(locks, the_threads_beyond_the_limit_are_not_taken_for_one) {
  format::recording recording = recording_with(lock_type::mutex, {1, 0, 0, 100}, {});
  recording.acquisitions.erase({2, 1, 1});
  recording.acquisitions[{2, format::max_threads, 1}] = counts_of({50, 50, 1000, 100});
  recording.waits[{2, format::max_threads, 1, 1, 0}][format::waits] = 50;
  EXPECT_EQ(only(recording).sums[format::acquisitions], 51U);
}

TEST(locks, that_nobody_waits_for_are_uncontended) {
  EXPECT_EQ(only(recording_with(lock_type::mutex, {5000}, {5000, 9, 1000})).category, lock_category::uncontended);
  EXPECT_EQ(only(recording_with(lock_type::mutex, {5000}, {5000})).remedy, "");
  EXPECT_THAT(only(recording_with(lock_type::mutex, {500'000}, {1})).remedy, HasSubstr("spin_mutex"));
  EXPECT_EQ(only(recording_with(lock_type::spin, {500'000}, {1})).remedy, "");
}

TEST(locks, that_threads_wait_for_are_contended) {
  EXPECT_EQ(only(recording_with(lock_type::mutex, {5000}, {5000, 200, 1000})).category, lock_category::contended)
      << "often";
  EXPECT_EQ(only(recording_with(lock_type::mutex, {5000}, {5000, 1, 20'000'000})).category, lock_category::contended)
      << "long";
  EXPECT_THAT(only(recording_with(lock_type::mutex, {5000}, {5000, 200, 1000, 5000})).remedy,
              AllOf(HasSubstr("let each thread fill a part of its own"),
                    HasSubstr("or divide the data by key into parts with a lock each")));
  EXPECT_THAT(only(recording_with(lock_type::mutex, {50}, {50, 20, 1000, 1'000'000'000})).remedy,
              HasSubstr("do less while it is held"));
  EXPECT_THAT(only(recording_with(lock_type::reader_writer, {5000, 0, 0, 0, 5000}, {100, 90, 10})).remedy,
              HasSubstr("reloadable"));
}

// Functions at 0x1000 look something up, in two threads, and wait for each other. A function at 0x1100 is called from
// 0x2100 and takes the same lock ten times, for longer. Site 3 is an allocation; `allocating` has its call stack.
format::recording lookups_and_reloads(const std::vector<std::uint64_t>& allocating) {
  format::recording recording = recording_with(lock_type::mutex, {20'000, 900, 90'000, 4'000'000}, {});
  recording.acquisitions[{1, 1, 1}] = counts_of({20'000, 900, 90'000, 4'000'000});
  recording.acquisitions.erase({2, 1, 1});
  recording.acquisitions[{2, 2, 1}] = counts_of({10, 1, 100, 30'000});
  recording.sites[2].frames = {0x1101, 0x2100, 0x3000};
  recording.sites[3].frames = allocating;
  recording.cells[{3, 2, 2}][format::blocks] = 10;
  return recording;
}
const std::vector<std::uint64_t> inside_reload = {0x500, 0x1120, 0x2100, 0x3000};

TEST(locks, read_often_and_replaced_seldom_ask_for_reloadable) {
  const lock_group group = only(lookups_and_reloads(inside_reload));
  EXPECT_THAT(group.remedy, AllOf(HasSubstr("only read"), HasSubstr("reloadable"), HasSubstr("10 times")));
  ASSERT_TRUE(group.read_mostly);
  EXPECT_FALSE(group.read_mostly->is_known) << "a mutex does not tell reads from writes";
  EXPECT_EQ(group.read_mostly->reads, 40'000U);
  EXPECT_EQ(group.read_mostly->replacements, 10U);
  EXPECT_EQ(group.read_mostly->replacing_site, 2U);
}

TEST(locks, read_often_by_threads_that_hardly_wait_ask_for_reloadable) {
  format::recording recording = lookups_and_reloads(inside_reload);
  recording.acquisitions[{1, 0, 1}] = recording.acquisitions[{1, 1, 1}] = counts_of({200'000, 0, 0, 40'000'000});
  const lock_group group = only(recording);
  EXPECT_EQ(group.category, lock_category::uncontended);
  EXPECT_THAT(group.remedy, AllOf(HasSubstr("reloadable"), HasSubstr("spin_mutex")));
}

TEST(locks, are_not_presumed_to_be_read_without_a_sign) {
  const auto remedy_of = [](const format::recording& recording) {
    const lock_group group = only(recording);
    EXPECT_FALSE(group.read_mostly) << group.remedy;
    return group.remedy;
  };
  EXPECT_THAT(remedy_of(lookups_and_reloads({0x500, 0x1120, 0x2200, 0x3000})),
              HasSubstr("let each thread fill a part of its own"))
      << "the allocation is in another call";
  format::recording recording = lookups_and_reloads(inside_reload);
  recording.acquisitions[{2, 2, 1}] = counts_of({10, 1, 100, 1'500});
  remedy_of(recording);  // it holds the lock hardly longer than the others
  recording.acquisitions[{2, 2, 1}] = counts_of({1'000, 1, 100, 3'000'000});
  remedy_of(recording);  // it is not rare
  recording = lookups_and_reloads(inside_reload);
  recording.acquisitions.erase({1, 1, 1});
  remedy_of(recording);  // only one thread takes it often
  recording = lookups_and_reloads(inside_reload);
  recording.acquisitions[{1, 0, 1}] = counts_of({20'000, 900, 90'000, 800'000'000});
  recording.acquisitions[{2, 2, 1}] = counts_of({10, 1, 100, 900'000'000});
  EXPECT_THAT(remedy_of(recording), HasSubstr("do less while it is held")) << "what is done often takes long";
  recording = lookups_and_reloads(inside_reload);
  recording.acquisitions.erase({2, 2, 1});
  remedy_of(recording);  // nobody replaces
  recording = lookups_and_reloads(inside_reload);
  recording.locks.push_back({0, lock_type::mutex, 1, 0x2000});
  recording.acquisitions[{1, 1, 2}] = counts_of({1});
  remedy_of(recording);  // a member of many objects
}

TEST(locks, of_a_recording_without_the_heap_are_judged_by_how_long_they_are_held) {
  format::recording recording = lookups_and_reloads(inside_reload);
  recording.cells.clear();
  EXPECT_THAT(only(recording).remedy, AllOf(HasSubstr("reloadable"), Not(HasSubstr("alloc"))));
}

TEST(locks, that_one_thread_waits_for_are_held_elsewhere) {
  format::recording recording = recording_with(lock_type::mutex, {200'000, 30, 500'000'000}, {});
  recording.acquisitions.erase({2, 1, 1});
  const lock_group waited = only(recording);
  EXPECT_EQ(waited.category, lock_category::contended);
  EXPECT_THAT(waited.remedy, AllOf(HasSubstr("another process had it"), Not(HasSubstr("declared"))));
  recording.locks[1].is_process_shared = true;
  EXPECT_THAT(only(recording).remedy, HasSubstr("declared to be one of several processes"));
}

TEST(locks, of_several_processes_are_not_one_threads_alone) {
  format::recording recording = recording_with(lock_type::mutex, {200'000}, {});
  recording.acquisitions.erase({2, 1, 1});
  EXPECT_THAT(only(recording).remedy, HasSubstr("one thread alone"));
  recording.locks[1].is_process_shared = true;
  EXPECT_EQ(only(recording).category, lock_category::uncontended);
  EXPECT_EQ(only(recording).remedy, "");
}

TEST(locks, are_held_long_where_most_of_the_time_is_of_long_holds) {
  // Site 1 holds it for 0.2 µs each, site 2 for 0.7 ms: 4.7 µs on average.
  const lock_group mixed =
      only(recording_with(lock_type::mutex, {300'000, 9000, 90'000'000, 60'000'000}, {2000, 20, 100, 1'400'000'000}));
  EXPECT_TRUE(is_held_long(mixed));
  EXPECT_THAT(mixed.remedy, AllOf(HasSubstr("most of that time for about"), HasSubstr("do less while it is held")));
  const lock_group even =
      only(recording_with(lock_type::mutex, {300'000, 9000, 90'000'000, 60'000'000}, {2000, 20, 100, 400'000}));
  EXPECT_FALSE(is_held_long(even));
}

TEST(locks, taken_through_one_function_are_told_apart_by_its_callers) {
  format::recording recording = lookups_and_reloads({0x500, 0x1120, 0x2100, 0x3000});
  recording.sites[1].frames = {0x700, 0x1001, 0x2000};
  recording.sites[2].frames = {0x700, 0x1101, 0x2100, 0x3000};
  ASSERT_TRUE(only(recording).read_mostly);
  EXPECT_EQ(only(recording).sites.size(), 1U);
}

TEST(locks, whose_replacing_thread_begins_in_the_library_are_not_compared_with_all_threads) {
  format::recording recording = lookups_and_reloads({0x500, 0x1120, 0x8100});
  recording.modules = {{0, 0x8000, 0x9000, 0, "/lib/x86_64-linux-gnu/libc.so.6", ""}};
  recording.sites[2].frames = {0x1101, 0x8100};  // the function of a thread, as the allocation's function may be
  EXPECT_FALSE(only(recording).read_mostly);
}

TEST(locks, for_readers_and_writers_tell_reads_from_replacements) {
  const lock_group group = only(recording_with(lock_type::reader_writer, {5000, 0, 0, 0, 5000}, {100, 90, 10}));
  ASSERT_TRUE(group.read_mostly);
  EXPECT_TRUE(group.read_mostly->is_known);
  EXPECT_EQ(group.read_mostly->reads, 5000U);
  EXPECT_EQ(group.read_mostly->replacements, 100U);
  EXPECT_EQ(group.read_mostly->replacing_site, 2U);
  EXPECT_FALSE(only(recording_with(lock_type::reader_writer, {5000}, {100, 90, 10})).read_mostly);
}

TEST(locks, a_few_waits_of_no_time_are_no_finding) {
  const lock_group three = only(recording_with(lock_type::mutex, {2}, {1, 1, 300}));
  EXPECT_EQ(three.category, lock_category::contended);
  EXPECT_EQ(three.remedy, "");
  EXPECT_NE(only(recording_with(lock_type::mutex, {2}, {1, 1, 20'000'000})).remedy, "") << "a fiftieth of the time";
  format::recording brief = recording_with(lock_type::mutex, {2}, {1, 1, 400'000});
  brief.end.wall_us = 4000;
  EXPECT_EQ(only(brief).remedy, "") << "a tenth of the time, and shown as 0.000 s";
}

TEST(locks, name_who_held_them) {
  format::recording recording = recording_with(lock_type::mutex, {50}, {50, 3, 700});
  recording.waits[{2, 1, 1, 1, 0}] = {1, 2 * 100};
  recording.waits[{2, 1, 1, 3, 2}] = {2, 2 * 600};
  const lock_group group = only(recording);
  ASSERT_EQ(group.sites.front().waits.size(), 2U);
  EXPECT_EQ(group.sites.front().waits.front().holder_site, 3U);
  EXPECT_EQ(group.sites.front().waits.front().holder, 2U);
  EXPECT_EQ(group.sites.front().waits.front().waits, 2U);
  EXPECT_EQ(group.sites.front().waits.front().nanoseconds, 600U);
}

TEST(locks, a_condition_that_wakes_threads_in_vain_has_a_remedy) {
  format::recording recording = recording_with(lock_type::condition, {2000, 2000, 900}, {2000, 2000, 900});
  recording.locks.push_back({0, lock_type::mutex, 1, 0x2000});
  recording.acquisitions[{3, 2, 1}] = counts_of({2000, 2000, 900});
  for (const std::uint32_t thread : {0U, 1U, 2U}) recording.acquisitions[{1, thread, 2}] = counts_of({400});
  const auto condition = [&] {
    const lock_findings findings = find_locks(recording);
    return findings.groups.back();
  };
  EXPECT_EQ(condition().idle_wakeups, 4800U);
  EXPECT_THAT(condition().remedy, HasSubstr("after 4,800 of 6,000 wake-ups"));
  recording.acquisitions[{1, 1, 2}] = counts_of({4000});
  EXPECT_EQ(condition().idle_wakeups, 3200U);
  EXPECT_EQ(condition().remedy, "") << "many wake-ups had work";
  recording.acquisitions.erase({3, 2, 1});
  recording.acquisitions[{1, 1, 2}] = counts_of({1});
  EXPECT_EQ(condition().remedy, "") << "two threads may take turns under one lock";
}

TEST(locks, conditions_are_no_contention) {
  const format::recording recording = recording_with(lock_type::condition, {5000, 5000, 900'000'000}, {1});
  EXPECT_EQ(only(recording).category, lock_category::condition);
  EXPECT_EQ(only(recording).remedy, "");
  EXPECT_EQ(find_locks(recording).contended, 0U);
}

}  // namespace
}  // namespace tarn::analyse
