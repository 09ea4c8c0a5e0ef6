// Tests the evaluation of the kernel's records, which are made by hand here.
#include "profiler/cpu/stack_samples.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "profiler/findings/time/cpu.hpp"
#include "profiler/findings/time/time.hpp"
#include "profiler/format/region.hpp"

namespace tarn::cpu {
namespace {

constexpr std::uint16_t user = PERF_RECORD_MISC_USER, kernel = PERF_RECORD_MISC_KERNEL;
constexpr pid_t process = 100, worker = 101, child = 200;

class records {
 public:
  explicit records(stack_samples& samples) : samples_(samples) {}

  template <class... Numbers>
  records& word(Numbers... numbers) {
    (append(&numbers, sizeof numbers), ...);
    return *this;
  }
  records& text(std::string_view characters) {
    append(characters.data(), characters.size());
    const std::array<char, 8> zeroes{};
    append(zeroes.data(), 8 - characters.size() % 8);
    return *this;
  }
  // Adds the record, with the kernel's trailer: process, thread and time.
  void end(std::uint32_t type, std::uint16_t misc, std::uint64_t at_ns, pid_t thread = 0) {
    if (type != PERF_RECORD_SAMPLE) word(thread == 0 ? 0 : process, thread, at_ns);
    perf_event_header header{type, misc, static_cast<std::uint16_t>(content_.size() + sizeof header)};
    perf_record record{at_ns, std::vector<std::byte>(header.size), is_of_stop_};
    std::memcpy(record.bytes.data(), &header, sizeof header);
    std::memcpy(record.bytes.data() + sizeof header, content_.data(), content_.size());
    EXPECT_EQ(time_of(record.bytes), at_ns);
    samples_.add(record);
    content_.clear();
  }

  void exec(pid_t of_process, std::uint64_t at_ns) {
    word(of_process, of_process).text("program").end(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, at_ns);
  }
  void rename(pid_t thread, std::string_view name, std::uint64_t at_ns) {
    word(process, thread).text(name).end(PERF_RECORD_COMM, 0, at_ns);
  }
  void fork(pid_t of_process, pid_t parent, pid_t thread, pid_t creator, std::uint64_t at_ns) {
    word(of_process, parent, thread, creator, at_ns).end(PERF_RECORD_FORK, 0, at_ns);
  }
  void module(std::uint64_t start, std::uint64_t bytes, std::uint64_t offset, std::string_view path) {
    word(process, process, start, bytes, offset, std::array<char, 32>{}).text(path).end(PERF_RECORD_MMAP2, user, 1);
  }
  // Adds the stack of a thread that is about to stop.
  void stop(pid_t thread, std::uint64_t at_ns, std::uint64_t address) {
    is_of_stop_ = true;
    sample(process, thread, kernel, at_ns, address, {});
    is_of_stop_ = false;
  }
  void run(pid_t thread, std::uint64_t at_ns) { end(PERF_RECORD_SWITCH, 0, at_ns, thread); }
  void wait(pid_t thread, std::uint64_t at_ns) { end(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, at_ns, thread); }
  void preempt(pid_t thread, std::uint64_t at_ns) {
    end(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, at_ns, thread);
  }
  void exit(pid_t thread, std::uint64_t at_ns) {
    word(process, process, thread, thread, at_ns).end(PERF_RECORD_EXIT, 0, at_ns);
  }
  // Between these times the kernel had no room for records.
  void lose(std::uint64_t count, std::uint64_t from_ns, std::uint64_t to_ns, bool is_of_stop = false) {
    word(std::uint64_t{1}, count, process, process, to_ns);
    perf_event_header header{PERF_RECORD_LOST, 0, static_cast<std::uint16_t>(content_.size() + sizeof header)};
    perf_record record{from_ns, std::vector<std::byte>(header.size), is_of_stop};
    std::memcpy(record.bytes.data(), &header, sizeof header);
    std::memcpy(record.bytes.data() + sizeof header, content_.data(), content_.size());
    samples_.add(record);
    content_.clear();
  }
  // A stack of code with frame pointers: `returns` are the return addresses of the callers.
  void sample(pid_t of_process, pid_t thread, std::uint16_t mode, std::uint64_t at_ns, std::uint64_t address,
              const std::vector<std::uint64_t>& returns, std::size_t copied_frames = 100) {
    constexpr std::uint64_t stack = 0x7000'0000;
    word(of_process, thread, at_ns, std::uint64_t{PERF_SAMPLE_REGS_ABI_64}, stack, stack, address);
    std::vector<std::uint64_t> stack_words;
    for (std::size_t index = 0; index < std::min(returns.size(), copied_frames); ++index) {
      stack_words.push_back(stack + 16 * (index + 1));
      stack_words.push_back(returns[index]);
    }
    if (copied_frames > returns.size()) stack_words.insert(stack_words.end(), {0, 0});
    const std::uint64_t bytes = 8 * stack_words.size();
    word(bytes);
    append(stack_words.data(), bytes);
    word(bytes).end(PERF_RECORD_SAMPLE, mode, at_ns);
  }

 private:
  void append(const void* bytes, std::size_t size) {
    const auto* const start = static_cast<const std::byte*>(bytes);
    content_.insert(content_.end(), start, start + size);
  }

  stack_samples& samples_;
  std::vector<std::byte> content_;
  bool is_of_stop_ = false;
};

format::cpu_recording recording_of(const stack_samples& samples, pid_t of_process = process,
                                   std::uint64_t begun_ns = 20) {
  format::cpu_recording result;
  samples.read(of_process, begun_ns, 0, result);
  return result;
}

// A program that began at 10 ns.
struct program_samples : testing::Test {
  program_samples() { from_kernel.exec(process, 10); }
  stack_samples samples;
  records from_kernel{samples};
};
struct samples_of_stacks : program_samples {};
struct thread_times : program_samples {};
struct waits : program_samples {};

TEST_F(samples_of_stacks, count_by_stack_and_thread) {
  from_kernel.fork(process, process, worker, process, 30);
  from_kernel.rename(worker, "worker", 31);
  from_kernel.sample(process, process, user, 40, 0x1000, {0x2000, 0x3000});
  from_kernel.sample(process, process, kernel, 41, 0x1000, {0x2000, 0x3000});
  from_kernel.sample(process, worker, user, 42, 0x1000, {0x2000, 0x3000});
  from_kernel.sample(process, worker, user, 43, 0x1000, {});
  const format::cpu_recording recorded = recording_of(samples);
  ASSERT_EQ(recorded.stacks.size(), 3U);
  // An instruction stands as if it were a return address.
  EXPECT_EQ(recorded.stacks[1].frames, (std::vector<std::uint64_t>{0x1001, 0x2000, 0x3000}));
  EXPECT_EQ(recorded.stacks[2].frames, (std::vector<std::uint64_t>{0x1001}));
  ASSERT_EQ(recorded.threads.size(), 2U);
  EXPECT_EQ(recorded.threads[0], (format::cpu_thread{0, process, "program"}));
  EXPECT_EQ(recorded.threads[1], (format::cpu_thread{0, worker, "worker"}));
  const format::cell_table<format::cpu_key, format::cpu_counts> expected = {
      {{1, 0}, {2, 1, 0}}, {{1, 1}, {1, 0, 0}}, {{2, 1}, {1, 0, 0}}};
  EXPECT_EQ(recorded.cells, expected);
}

TEST_F(samples_of_stacks, without_registers_count_at_no_stack) {
  from_kernel.word(process, process, std::uint64_t{40}, std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE}, std::uint64_t{0})
      .end(PERF_RECORD_SAMPLE, kernel, 40);
  EXPECT_EQ(recording_of(samples).cells,
            (format::cell_table<format::cpu_key, format::cpu_counts>{{{0, 0}, {1, 1, 0}}}));
}

// Returns running, runnable, waiting, unknown, waits and preemptions of a thread.
using times = std::array<std::uint64_t, 6>;
times times_of(const format::cpu_recording& recorded, std::uint32_t id = process, std::uint32_t image = 0) {
  times sums{};
  for (const auto& [key, counts] : recorded.cells) {
    if (recorded.threads[key.thread].id != id || recorded.threads[key.thread].image != image) continue;
    for (std::size_t index = 0; index < sums.size(); ++index) sums[index] += counts[format::running_ns + index];
  }
  return sums;
}

TEST_F(thread_times, have_each_moment_from_begin_to_end) {
  from_kernel.fork(process, process, worker, process, 100);
  from_kernel.run(worker, 103);
  from_kernel.wait(process, 200);
  from_kernel.preempt(worker, 500);
  from_kernel.run(worker, 570);
  from_kernel.run(process, 700);
  from_kernel.wait(worker, 1000);
  from_kernel.run(worker, 3000);
  from_kernel.exit(worker, 3005);
  samples.set_time(4700);  // the process goes on
  const format::cpu_recording recorded = recording_of(samples);
  EXPECT_EQ(times_of(recorded), (times{190 + 4000, 0, 500, 0, 1, 0}));
  EXPECT_EQ(times_of(recorded, worker), (times{397 + 430 + 5, 3 + 70, 2000, 0, 1, 1}));
}

TEST_F(thread_times, are_unknown_where_records_are_missing) {
  from_kernel.wait(process, 20);
  from_kernel.wait(process, 50);  // it has run in between
  from_kernel.run(process, 90);
  from_kernel.run(process, 96);
  EXPECT_EQ(times_of(recording_of(samples)), (times{10, 0, 40, 30 + 6, 2, 0}));
}

TEST_F(thread_times, are_unknown_where_records_were_lost) {
  from_kernel.fork(process, process, worker, process, 20);
  from_kernel.run(worker, 20);
  from_kernel.wait(process, 100);
  from_kernel.lose(7, 130, 200);
  from_kernel.run(process, 150);  // by another processor
  from_kernel.wait(process, 230);
  from_kernel.run(process, 300);
  samples.set_time(400);
  const format::cpu_recording recorded = recording_of(samples);
  EXPECT_EQ(recorded.lost, 7U);
  EXPECT_EQ(times_of(recorded), (times{90 + 30 + 100, 0, 30 + 70, 20 + 50, 2, 0}));
  EXPECT_EQ(times_of(recorded, worker), (times{110, 0, 0, 270, 0, 0})) << "it still seems to do what it did before";
}

TEST_F(thread_times, do_not_change_by_a_record_that_comes_late) {
  from_kernel.run(process, 60);  // the record of its wait is still on the way
  from_kernel.wait(process, 30);
  from_kernel.wait(process, 100);
  from_kernel.run(process, 150);
  EXPECT_EQ(times_of(recording_of(samples)), (times{40, 0, 50, 50, 2, 0}));
}

// Returns the time that was waited at each address.
std::map<std::uint64_t, std::uint64_t> waits_of(const format::cpu_recording& recorded) {
  std::map<std::uint64_t, std::uint64_t> sums;
  for (const auto& [key, counts] : recorded.cells) {
    if (counts[format::waiting_ns] != 0)
      sums[key.site == 0 ? 0 : recorded.stacks[key.site].frames[0] - 1] += counts[format::waiting_ns];
  }
  return sums;
}

TEST_F(waits, are_at_the_stack_with_which_the_thread_stopped) {
  from_kernel.stop(process, 99, 0x1000);
  from_kernel.wait(process, 100);
  from_kernel.run(process, 400);
  from_kernel.stop(process, 499, 0x2000);
  from_kernel.preempt(process, 500);  // it does not wait there
  from_kernel.run(process, 501);
  from_kernel.wait(process, 502);
  from_kernel.run(process, 507);
  from_kernel.stop(process, 599, 0x3000);
  from_kernel.wait(process, 600);
  samples.set_time(1600);
  const format::cpu_recording recorded = recording_of(samples);
  EXPECT_EQ(waits_of(recorded), (std::map<std::uint64_t, std::uint64_t>{{0, 5}, {0x1000, 300}, {0x3000, 1000}}));
  EXPECT_EQ(times_of(recorded), (times{90 + 100 + 1 + 93, 1, 1305, 0, 3, 1}));
}

TEST_F(waits, without_a_stack_are_shared_out_among_those_that_took_as_long) {
  std::uint64_t at_ns = 20;
  const auto wait = [&](std::uint64_t ns, std::uint64_t address) {
    if (address != 0) from_kernel.stop(process, at_ns - 1, address);
    from_kernel.wait(process, at_ns);
    from_kernel.run(process, at_ns + ns);
    at_ns += ns + 10;
  };
  wait(100, 0x1000);
  wait(100, 0x2000);
  wait(100, 0x2000);
  for (int index = 0; index < 60; ++index) wait(100, 0);
  wait(5000, 0);  // none of the others took about as long
  wait(70'000, 0x3000);
  EXPECT_EQ(waits_of(recording_of(samples)),
            (std::map<std::uint64_t, std::uint64_t>{{0, 5000}, {0x1000, 2100}, {0x2000, 4200}, {0x3000, 70'000}}));
}

TEST_F(waits, do_not_mind_lost_samples_of_stacks) {
  from_kernel.wait(process, 100);
  from_kernel.lose(3, 150, 200, true);
  from_kernel.run(process, 400);
  const format::cpu_recording recorded = recording_of(samples);
  EXPECT_EQ(recorded.lost, 0U);
  EXPECT_EQ(times_of(recorded), (times{90, 0, 300, 0, 1, 0}));
}

TEST_F(waits, do_not_have_the_time_after_wake_ups) {
  from_kernel.fork(process, process, worker, process, 20);
  from_kernel.run(worker, 30);  // it was new for 10
  std::uint64_t at_ns = 100;
  const auto wait = [&](pid_t thread, std::uint64_t ns, std::uint64_t address) {
    from_kernel.stop(thread, at_ns - 1, address);
    from_kernel.wait(thread, at_ns);
    from_kernel.run(thread, at_ns + ns);
    at_ns += ns + 10;
  };
  wait(worker, 100, 0x1000);
  wait(worker, 5, 0x2000);
  samples.add_delay(process, worker, 10 + 5 + 30);
  // The short wait was a delay as a whole.
  EXPECT_EQ(waits_of(recording_of(samples)), (std::map<std::uint64_t, std::uint64_t>{{0x1000, 70}}));
  EXPECT_EQ(times_of(recording_of(samples), worker)[1], 10U + 35);
  wait(worker, 100, 0x3000);
  wait(worker, 100, 0x3000);
  // Those since then have as much each: 35 more for two more.
  EXPECT_EQ(waits_of(recording_of(samples)), (std::map<std::uint64_t, std::uint64_t>{{0x1000, 79}, {0x3000, 157}}));
  samples.add_delay(process, worker, 10);
  EXPECT_EQ(waits_of(recording_of(samples)),
            (std::map<std::uint64_t, std::uint64_t>{{0x1000, 100}, {0x2000, 5}, {0x3000, 200}}));
}

TEST_F(waits, of_a_thread_from_before_have_no_delay_of_before) {
  from_kernel.preempt(process, 20);
  from_kernel.run(process, 27);
  samples.add_delay(process, process, 5000);
  from_kernel.wait(process, 100);
  from_kernel.run(process, 200);
  samples.add_delay(process, process, 5040);
  EXPECT_EQ(times_of(recording_of(samples)), (times{10 + 73, 7 + 40, 60, 0, 1, 1}));
}

TEST_F(waits, of_a_thread_that_was_not_read_are_undivided) {
  from_kernel.wait(process, 100);
  from_kernel.run(process, 400);
  const auto undivided_ns = [&] {
    std::uint64_t sum = 0;
    for (const auto& [key, counts] : recording_of(samples).cells) sum += counts[format::undivided_ns];
    return sum;
  };
  EXPECT_EQ(undivided_ns(), 300U);
  samples.add_delay(process, process, 0);
  EXPECT_EQ(undivided_ns(), 0U);
}

TEST_F(waits, have_as_much_delay_as_they_are_long_at_most) {
  const std::array groups = {wait_sum{100, 10}, wait_sum{9000, 3}, wait_sum{}};
  EXPECT_EQ(longest_delay(groups, 0), 0);
  EXPECT_EQ(longest_delay(groups, 13), 1);
  EXPECT_EQ(longest_delay(groups, 100 + 60), 20);
  EXPECT_EQ(longest_delay(groups, 1e9), 3000);
}

TEST_F(thread_times, begin_anew_with_each_program) {
  from_kernel.wait(process, 12);
  from_kernel.run(process, 15);
  from_kernel.exec(process, 50);
  from_kernel.wait(process, 70);
  samples.set_time(90);
  EXPECT_EQ(times_of(recording_of(samples)), (times{2 + 35, 0, 3, 0, 1, 0}));
  EXPECT_EQ(times_of(recording_of(samples), process, 1), (times{20, 0, 20, 0, 1, 0}));
  EXPECT_EQ(times_of(recording_of(samples, process, 60)), (times{20, 0, 20, 0, 1, 0})) << "the recorder came with it";
}

TEST_F(thread_times, of_threads_beyond_the_limit_count_as_those_of_the_last_one) {
  constexpr pid_t count = format::max_threads + 100;
  for (pid_t thread = 1; thread <= count; ++thread) {
    from_kernel.fork(process, process, process + thread, process, 20);
    from_kernel.run(process + thread, 21);
    from_kernel.exit(process + thread, 23);
  }
  const format::cpu_recording recorded = recording_of(samples);
  EXPECT_EQ(recorded.threads.size(), format::max_threads);
  std::uint64_t running = 0;
  for (const auto& [key, counts] : recorded.cells) {
    ASSERT_LT(key.thread, recorded.threads.size());
    running += counts[format::running_ns];
  }
  EXPECT_EQ(running, 2U * count);
}

TEST(stack_samples, of_another_process_are_left_out_or_kept_apart) {
  for (const bool keeps_one : {true, false}) {
    stack_samples samples;
    if (keeps_one) samples.keep_only(process);
    records from_kernel(samples);
    from_kernel.exec(process, 10);
    from_kernel.fork(child, process, child, process, 25);
    from_kernel.sample(process, process, user, 40, 0x1000, {});
    from_kernel.sample(child, child, user, 41, 0x2000, {});
    EXPECT_EQ(recording_of(samples).cells.size(), 1U);
    EXPECT_EQ(recording_of(samples, child).cells.size(), keeps_one ? 0U : 1U);
  }
}

// The recorder counts images from the first one that it is in.
TEST(stack_samples, of_images_before_the_recorder_are_left_out) {
  stack_samples samples;
  records from_kernel(samples);
  from_kernel.sample(process, process, user, 5, 0x1000, {});
  from_kernel.exec(process, 10);
  from_kernel.sample(process, process, user, 15, 0x2000, {});  // the loader, before the recorder began at 20
  from_kernel.exec(process, 50);
  from_kernel.sample(process, process, user, 55, 0x3000, {});
  const format::cpu_recording recorded = recording_of(samples);
  std::map<std::uint64_t, std::uint32_t> images;
  for (const auto& [key, counts] : recorded.cells) {
    if (key.site == 0) continue;  // times
    const format::site_facts& stack = recorded.stacks[key.site];
    images[stack.frames[0]] = stack.image;
    EXPECT_EQ(recorded.threads[key.thread].image, stack.image);
  }
  EXPECT_EQ(images, (std::map<std::uint64_t, std::uint32_t>{{0x2001, 0}, {0x3001, 1}}));
}

TEST_F(samples_of_stacks, name_the_modules_of_their_stacks) {
  from_kernel.module(0x1000, 0x1000, 0, "/nonexistent/first");
  from_kernel.module(0x4000, 0x1000, 0x2000, "/nonexistent/second");
  from_kernel.module(0x8000, 0x1000, 0, "//anon");
  from_kernel.sample(process, process, user, 40, 0x1800, {0x8100});
  const format::cpu_recording recorded = recording_of(samples);
  ASSERT_EQ(recorded.modules.size(), 1U);
  EXPECT_EQ(recorded.modules[0].path, "/nonexistent/first");
  EXPECT_EQ(recorded.modules[0].start, 0x1000U);
  EXPECT_EQ(recorded.modules[0].end, 0x2000U);
}

TEST_F(samples_of_stacks, that_are_broken_break_nothing) {
  for (std::uint32_t type = 1; type < 20; ++type) {
    for (std::size_t word_count = 0; word_count < 12; ++word_count) {
      perf_record record{30, std::vector<std::byte>(sizeof(perf_event_header) + 8 * word_count, std::byte{0xff}),
                         word_count % 2 != 0};
      const perf_event_header header{type, user, static_cast<std::uint16_t>(record.bytes.size())};
      std::memcpy(record.bytes.data(), &header, sizeof header);
      time_of(record.bytes);
      samples.add(record);
    }
  }
  from_kernel.sample(process, process, user, 40, ~0ULL, {~0ULL, ~0ULL});
  from_kernel.sample(process, process, user, 40, 0, {0});
  EXPECT_FALSE(recording_of(samples).cells.empty());
}

TEST(time_findings, join_threads_of_a_name_and_waits_of_a_place) {
  format::recording recording;
  recording.cpu.interval_ns = 5;
  recording.cpu.modules = {{0, 0x1000, 0x2000, 0x1000, "/nonexistent/first", "", 0}};
  recording.cpu.threads = {{0, 1, "main"}, {0, 2, "worker"}, {0, 3, "worker"}, {0, 4, "sampled"}};
  recording.cpu.stacks = {{}, {0, {0x1001, 0x1800}}, {0, {0x1001, 0x1900}}, {0, {0x1011}}};
  const auto cell = [&](std::uint32_t stack, std::uint32_t thread, const times& counts) {
    std::copy(counts.begin(), counts.end(), recording.cpu.cells[{stack, thread}].begin() + format::running_ns);
  };
  cell(0, 0, {10, 0, 5, 0, 2, 0});
  cell(0, 1, {20, 1, 0, 0, 1, 1});
  cell(0, 2, {30, 2, 0, 7, 1, 1});
  cell(1, 1, {0, 0, 300, 0, 0, 0});
  cell(2, 2, {0, 0, 400, 0, 0, 0});
  cell(3, 0, {0, 0, 600, 0, 0, 0});
  recording.cpu.cells[{1, 3}] = {4, 0, 0};
  const format::recording joined = analyse::with_cpu_sites(recording);
  analyse::symbols symbols(joined);
  const analyse::time_findings findings = analyse::find_time(joined, symbols);
  EXPECT_EQ(findings.whole.threads, 3U);
  EXPECT_EQ(findings.whole.lifetime_ns(), 1375U);
  ASSERT_EQ(findings.threads.size(), 2U) << "a thread without times is none";
  EXPECT_EQ(findings.threads[0].name, "worker");
  EXPECT_EQ(findings.threads[0].threads, 2U);
  EXPECT_EQ(findings.threads[0].sums[format::waiting_ns], 700U);
  EXPECT_EQ(findings.threads[1].name, "main");
  ASSERT_EQ(findings.waits.size(), 2U);
  EXPECT_EQ(findings.waits[0].waited_ns, 700U);
  EXPECT_EQ(joined.sites[findings.waits[0].site].frames[1], 0x1900U) << "the stack with most of it";
  EXPECT_EQ(findings.waits[0].names, (std::set<std::string>{"worker"}));
  EXPECT_EQ(findings.waits[1].waited_ns, 600U);
  EXPECT_EQ(findings.unplaced_ns, 5U);
}

TEST(cpu_findings, have_the_shares_of_each_function_and_their_errors) {
  format::recording recording;
  recording.sites = {{}, {0, {0x77}}};
  recording.threads = {{.image = 0, .id = 1}};
  recording.modules = {{0, 0x1000, 0x2000, 0x1000, "/nonexistent/first", "", 0}};
  recording.cpu.interval_ns = 5;
  recording.cpu.modules = {{0, 0x1000, 0x2000, 0x1000, "/nonexistent/first", "", 0},
                           {0, 0x4000, 0x5000, 0x4000, "/nonexistent/second", "", 0}};
  recording.cpu.threads = {{0, 1, "main"}, {0, 2, "other"}};
  recording.cpu.stacks = {{}, {0, {0x1001, 0x4001}}, {0, {0x4001, 0x4002, 0x4001}}};
  recording.cpu.cells = {{{0, 0}, {10, 10, 0}}, {{1, 0}, {60, 0, 0}}, {{2, 1}, {30, 0, 3}}};
  const format::recording joined = analyse::with_cpu_sites(recording);
  EXPECT_EQ(joined.sites.size(), 4U);
  EXPECT_EQ(joined.modules.size(), 2U);
  ASSERT_EQ(joined.threads.size(), 2U);
  EXPECT_EQ(joined.threads[0].name, "main");
  EXPECT_EQ(joined.threads[1].name, "other");
  EXPECT_EQ(analyse::with_cpu_sites(joined).cpu.cells, joined.cpu.cells) << "it has been joined already";
  analyse::symbols symbols(joined);
  const analyse::cpu_findings findings = analyse::find_cpu(joined, symbols);
  EXPECT_EQ(findings.samples, 100U);
  EXPECT_EQ(findings.kernel, 10U);
  EXPECT_EQ(findings.cut, 3U);
  EXPECT_EQ(findings.threads, (std::map<std::uint32_t, std::uint64_t>{{0, 70}, {1, 30}}));
  ASSERT_EQ(findings.functions.size(), 2U);
  EXPECT_EQ(findings.functions[0].location.module, "/nonexistent/first");
  EXPECT_EQ(findings.functions[0].self, 60U);
  EXPECT_EQ(findings.functions[0].total, 60U);
  EXPECT_EQ(findings.functions[1].self, 30U);
  EXPECT_EQ(findings.functions[1].total, 90U);
  EXPECT_NEAR(findings.functions[0].self_share.error, 1.96 * 0.04899, 1e-4);  // sqrt(0.6 * 0.4 / 100)
  EXPECT_EQ(analyse::share_error(100, 100), 0.01);
}

// Two long threads, and a hundred that ran for less than an interval and have two samples together.
format::recording brief_threads(std::uint64_t brief_samples) {
  format::recording recording;
  recording.cpu.interval_ns = 5;
  recording.cpu.cells[{0, 0}] = {};
  recording.cpu.cells[{0, 1}] = {};
  recording.cpu.cells[{1, 0}][format::cpu_samples] = 60;
  recording.cpu.cells[{1, 1}][format::cpu_samples] = 20;
  recording.cpu.cells[{0, 0}][format::running_ns] = 300;
  recording.cpu.cells[{0, 1}][format::running_ns] = 100;
  for (std::uint32_t thread = 2; thread < 102; ++thread) recording.cpu.cells[{0, thread}][format::running_ns] = 1;
  recording.cpu.cells[{2, 50}][format::cpu_samples] = brief_samples;
  return recording;
}

TEST(sampled_shares, are_those_of_the_time_that_brief_threads_ran) {
  const analyse::sampled_shares shares(brief_threads(2));
  EXPECT_EQ(shares.class_of(2), shares.class_of(50));
  EXPECT_EQ(shares.class_of(0), shares.class_of(1));
  EXPECT_DOUBLE_EQ(shares.share_of_brief(), 0.2);
  EXPECT_EQ(shares.samples_of_brief(), 2U);
  analyse::sampled_shares::samples brief{}, half{}, steady{};
  brief[shares.class_of(50)] = 2;
  half[shares.class_of(50)] = 1;
  steady[shares.class_of(0)] = 80;
  EXPECT_DOUBLE_EQ(shares.share_of(brief).share, 0.2);
  EXPECT_DOUBLE_EQ(shares.share_of(half).share, 0.1);
  EXPECT_DOUBLE_EQ(shares.share_of(steady).share, 0.8);
  EXPECT_NEAR(shares.share_of(brief).error, 0.2 * 0.808, 0.001) << "two samples tell little";
  EXPECT_GT(shares.share_of(half).error, 0.08);
  EXPECT_EQ(shares.ns_of(0.2), 100U);
  EXPECT_EQ(shares.ns_of(50, 1), 50U) << "a sample of brief threads stands for half of their time";
  EXPECT_EQ(shares.ns_of(0, 60), 300U);
  EXPECT_EQ(shares.ns_of(1, ~0ULL), 10'000'000'000'000'000'000ULL) << "more than an integer holds";
}

TEST(sampled_shares, of_threads_without_a_sample_are_in_each_error) {
  const analyse::sampled_shares shares(brief_threads(0));
  analyse::sampled_shares::samples steady{};
  steady[shares.class_of(0)] = 80;
  EXPECT_DOUBLE_EQ(shares.share_of(steady).share, 0.8);
  EXPECT_NEAR(shares.share_of(steady).error, 0.2 + 0.8 * 2 / 80, 1e-9) << "two threads may miss a sample each";
  EXPECT_NEAR(shares.share_of({}).error, 0.2 + 0.8 * 2 / 80, 1e-9);
}

// The first sample of each is at its fifth nanosecond, whatever the function is that runs there.
TEST(sampled_shares, of_threads_with_one_sample_each_are_not_known) {
  format::recording recording;
  recording.cpu.interval_ns = 5;
  for (std::uint32_t thread = 0; thread < 200; ++thread) recording.cpu.cells[{1, thread}] = {1, 0, 0, 9};
  const analyse::sampled_shares shares(recording);
  analyse::sampled_shares::samples every_sample{};
  every_sample[shares.class_of(0)] = 200;
  EXPECT_DOUBLE_EQ(shares.share_of(every_sample).share, 1);
  EXPECT_DOUBLE_EQ(shares.share_of(every_sample).error, 1);
}

TEST(sampled_shares, are_those_of_the_samples_where_the_kernel_is_hidden) {
  format::recording recording = brief_threads(20);
  recording.cpu.is_kernel_hidden = true;
  const analyse::sampled_shares shares(recording);
  analyse::sampled_shares::samples part{};
  part[shares.class_of(50)] = 20;
  EXPECT_DOUBLE_EQ(shares.share_of(part).share, 0.2);
  EXPECT_DOUBLE_EQ(shares.share_of(part).error, 1) << "as many threads as samples";
  EXPECT_EQ(shares.ns_of(0, 1), 5U) << "an interval, since the time of the thread has that in the kernel";
}

}  // namespace
}  // namespace tarn::cpu
