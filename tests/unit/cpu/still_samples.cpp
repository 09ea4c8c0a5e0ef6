// Tests from which records a thread is known to stand still since its sample.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <vector>

#include "profiler/cpu/perf_events.hpp"

namespace tarn::cpu {
namespace {

constexpr pid_t sampled_thread = 7, further_thread = 8;

perf_record made_record(std::uint32_t type, std::uint64_t at_ns, pid_t thread, std::uint16_t misc = 0) {
  struct {
    perf_event_header header;
    pid_t process, thread;
    std::uint64_t at_ns;
  } content{{type, misc, sizeof content}, 1, thread, at_ns};
  perf_record record{at_ns, std::vector<std::byte>(sizeof content)};
  std::memcpy(record.bytes.data(), &content, sizeof content);
  return record;
}

perf_record a_sample(std::uint64_t at_ns) { return made_record(PERF_RECORD_SAMPLE, at_ns, sampled_thread); }
perf_record a_start(std::uint64_t at_ns, pid_t thread = sampled_thread) {
  return made_record(PERF_RECORD_SWITCH, at_ns, thread);
}
perf_record a_stop(std::uint64_t at_ns, pid_t thread = sampled_thread) {
  return made_record(PERF_RECORD_SWITCH, at_ns, thread, PERF_RECORD_MISC_SWITCH_OUT);
}
// A record with registers and a copied stack in a larger room, as the kernel writes it.
perf_record a_sample_with_a_stack(std::uint64_t at_ns, std::uint64_t instruction, std::uint64_t top_of_stack,
                                  std::uint64_t byte_beyond = 0) {
  struct {
    perf_event_header header;
    pid_t process, thread;
    std::uint64_t at_ns, form, frame, stack, instruction, room, memory[2], copied;
  } content{{PERF_RECORD_SAMPLE, 0, sizeof content},
            1,
            sampled_thread,
            at_ns,
            PERF_SAMPLE_REGS_ABI_64,
            16,
            8,
            instruction,
            sizeof content.memory,
            {top_of_stack, byte_beyond},
            sizeof content.memory[0]};
  perf_record record{at_ns, std::vector<std::byte>(sizeof content)};
  std::memcpy(record.bytes.data(), &content, sizeof content);
  return record;
}
perf_record of_stop(perf_record record) {
  record.is_of_stop = true;
  return record;
}
perf_record a_loss(std::uint64_t at_ns) { return made_record(PERF_RECORD_LOST, at_ns, 0); }

// Returns whether the first record's thread stands still after all of them.
bool is_still_after(std::vector<perf_record> records) {
  mark_still(records);
  return records.front().is_still;
}

TEST(still_samples, are_followed_by_a_stop_at_once) {
  EXPECT_TRUE(is_still_after({a_sample(100), a_stop(5'000)}));
  EXPECT_FALSE(is_still_after({a_sample(100)}));
  EXPECT_FALSE(is_still_after({a_sample(100), a_stop(60'000)}));
  EXPECT_FALSE(is_still_after({a_sample(100), a_stop(5'000, further_thread)}));
}

TEST(still_samples, are_where_the_thread_stops_later) {
  constexpr std::uint64_t at_ns = 100, stop_ns = 200'000;
  const perf_record sample = a_sample_with_a_stack(at_ns, 1, 2), stop = a_stop(stop_ns + 1);
  const auto is_still_at = [&](const perf_record& stopping) {
    return is_still_after({sample, of_stop(stopping), stop});
  };
  EXPECT_TRUE(is_still_at(a_sample_with_a_stack(stop_ns, 1, 2)));
  EXPECT_TRUE(is_still_at(a_sample_with_a_stack(stop_ns, 1, 2, 3)));  // not a part of the stack
  EXPECT_FALSE(is_still_at(a_sample_with_a_stack(stop_ns, 7, 2)));
  EXPECT_FALSE(is_still_at(a_sample_with_a_stack(stop_ns, 1, 7)));
  EXPECT_FALSE(is_still_at(a_sample(stop_ns)));
  EXPECT_FALSE(is_still_after({sample, a_sample_with_a_stack(stop_ns, 1, 2), stop}));  // of one that ran
  EXPECT_FALSE(is_still_after({sample, of_stop(a_sample_with_a_stack(stop_ns, 1, 2)), stop, a_start(stop_ns + 2)}));
  EXPECT_FALSE(is_still_after({sample, of_stop(a_sample_with_a_stack(stop_ns, 1, 2))}));
}

TEST(still_samples, are_not_followed_by_a_start) {
  EXPECT_FALSE(is_still_after({a_sample(100), a_stop(200), a_start(300)}));
  EXPECT_FALSE(is_still_after({a_sample(100), a_stop(200), a_start(300), a_stop(400)}));
  EXPECT_FALSE(is_still_after({a_sample(100), a_start(300), a_stop(400)}));
  EXPECT_TRUE(is_still_after({a_sample(100), a_stop(200), a_start(300, further_thread)}));
}

TEST(still_samples, are_not_known_where_records_are_missing) {
  EXPECT_FALSE(is_still_after({a_sample(100), a_stop(200), a_loss(300)}));
  EXPECT_FALSE(is_still_after({a_sample(100), a_loss(150), a_stop(200)}));
  EXPECT_FALSE(is_still_after({a_sample(100), a_stop(200), a_loss(100)}));  // sorted by the begin of the loss
  std::vector<perf_record> records = {a_loss(50), a_sample(100), a_stop(200)};
  mark_still(records);
  EXPECT_TRUE(records[1].is_still);
}

TEST(still_samples, end_with_a_start_or_a_loss) {
  EXPECT_TRUE(may_go_on({a_start(300)}, sampled_thread));
  EXPECT_TRUE(may_go_on({a_loss(300)}, sampled_thread));
  EXPECT_FALSE(may_go_on({a_start(300, further_thread), a_stop(300), a_sample(400)}, sampled_thread));
  EXPECT_FALSE(may_go_on({}, sampled_thread));
}

}  // namespace
}  // namespace tarn::cpu
