// Tests what is made of the kernel's records, which are made by hand here.
#include "profiler/cpu/stack_samples.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "profiler/findings/cpu.hpp"

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
  // Adds the record that was built, with what the kernel puts behind each: process, thread and time.
  void end(std::uint32_t type, std::uint16_t misc, std::uint64_t at_ns) {
    if (type != PERF_RECORD_SAMPLE) word(std::uint32_t{0}, std::uint32_t{0}, at_ns);
    perf_event_header header{type, misc, static_cast<std::uint16_t>(content_.size() + sizeof header)};
    perf_record record{at_ns, std::vector<std::byte>(header.size)};
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
};

format::cpu_recording recording_of(const stack_samples& samples, pid_t of_process = process,
                                   std::uint64_t begun_ns = 20) {
  format::cpu_recording result;
  samples.read(of_process, begun_ns, 0, result);
  return result;
}

TEST(stack_samples, count_by_stack_and_thread) {
  stack_samples samples;
  records from_kernel(samples);
  from_kernel.exec(process, 10);
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
  const std::map<format::cpu_key, format::cpu_counts> expected = {
      {{1, 0}, {2, 1, 0}}, {{1, 1}, {1, 0, 0}}, {{2, 1}, {1, 0, 0}}};
  EXPECT_EQ(recorded.cells, expected);
}

TEST(stack_samples, without_registers_count_at_no_stack) {
  stack_samples samples;
  records from_kernel(samples);
  from_kernel.exec(process, 10);
  from_kernel.word(process, process, std::uint64_t{40}, std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE}, std::uint64_t{0})
      .end(PERF_RECORD_SAMPLE, kernel, 40);
  EXPECT_EQ(recording_of(samples).cells, (std::map<format::cpu_key, format::cpu_counts>{{{0, 0}, {1, 1, 0}}}));
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
    const format::site_facts& stack = recorded.stacks[key.site];
    images[stack.frames[0]] = stack.image;
    EXPECT_EQ(recorded.threads[key.thread].image, stack.image);
  }
  EXPECT_EQ(images, (std::map<std::uint64_t, std::uint32_t>{{0x2001, 0}, {0x3001, 1}}));
}

TEST(stack_samples, name_the_modules_of_their_stacks) {
  stack_samples samples;
  records from_kernel(samples);
  from_kernel.exec(process, 10);
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

TEST(stack_samples, that_are_broken_break_nothing) {
  stack_samples samples;
  records from_kernel(samples);
  from_kernel.exec(process, 10);
  for (std::uint32_t type = 1; type < 20; ++type) {
    for (std::size_t word_count = 0; word_count < 12; ++word_count) {
      perf_record record{30, std::vector<std::byte>(sizeof(perf_event_header) + 8 * word_count, std::byte{0xff})};
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
  EXPECT_NEAR(findings.functions[0].self_error, 1.96 * 0.04899, 1e-4);  // sqrt(0.6 * 0.4 / 100)
  EXPECT_EQ(analyse::share_error(100, 100), 0.01);
}

}  // namespace
}  // namespace tarn::cpu
