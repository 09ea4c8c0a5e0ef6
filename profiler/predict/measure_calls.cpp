#include "profiler/predict/measure_calls.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <tarn/io/memo.hpp>
#include <tarn/io/reader.hpp>
#include <tarn/io/writer.hpp>

#include "profiler/base/memory_file.hpp"
#include "profiler/predict/pairs.hpp"

namespace tarn::command {
namespace {

constexpr std::uint64_t calls_of_a_round = 1000;
constexpr int rounds = 5;

// Returns the least of some rounds, each from another stack, so that a recording has each by itself. Other work on
// the machine can only add time.
template <class Call>
[[gnu::noinline]] double call_ns(const Call& call, int depth = rounds - 1) {
  double best = depth == 0 ? -1 : call_ns(call, depth - 1);
  const double begun = wall_ns();
  for (std::uint64_t call_number = 0; call_number < calls_of_a_round; ++call_number) call();
  const double ns = (wall_ns() - begun) / static_cast<double>(calls_of_a_round);
  if (best < 0 || ns < best) best = ns;
  asm volatile("" : : : "memory");  // prevents a loop in place of the recursion
  return best;
}

constexpr std::string_view text = "sixty-four bytes, which is what a line of a log or a field takes";
static_assert(text.size() == 64);

constexpr off_t zero_bytes = 1 << 30;  // more than min_ns() reads; none of it takes memory

double buffered_ns() {
  io::writer output("/dev/null", {});
  const double writing = min_ns([&](std::size_t batches) {
    for (std::size_t batch = 0; batch < batches; ++batch) output.write(text);
    return batches;
  });
  const memory_file zeros;
  std::signal(SIGXFSZ, SIG_IGN);  // the limit of a file's size (ulimit -f) may be lower
  if (::ftruncate(zeros.number(), zero_bytes) != 0) return writing;
  io::reader input(zeros.path());
  const double reading = min_ns([&](std::size_t batches) {
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const std::string_view block = input.block(text.size());
      asm volatile("" : : "r"(block.data()) : "memory");
    }
    return batches;
  });
  return std::max(writing, reading);
}

double remembered_ns() {
  io::memo<std::string, int> memo([](const std::string& key) { return static_cast<int>(key.size()); });
  const std::string key(text);
  return min_ns([&](std::size_t batches) {
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const std::optional<int> value = memo.get(key);
      asm volatile("" : : "r"(value.value_or(0)));
    }
    return batches;
  });
}

}  // namespace

analyse::call_costs measure_calls() {
  analyse::call_costs costs;
  const int file = ::memfd_create("tarn-calls", MFD_CLOEXEC);
  std::array<char, 64> bytes{};
  struct stat facts {};
  costs.plain_ns = {
      call_ns([] { ::syscall(SYS_getppid); }),
      call_ns([&] { static_cast<void>(::pwrite(file, bytes.data(), bytes.size(), 0)); }),
      call_ns([&] { static_cast<void>(::pread(file, bytes.data(), bytes.size(), 0)); }),
      call_ns([&] { static_cast<void>(::stat("/usr/bin", &facts)); }),
  };
  ::close(file);
  costs.buffered_ns = buffered_ns();
  costs.cached_ns = remembered_ns();
  return costs;
}

double stretch_of(const format::recording& recording, const analyse::call_costs& plain) {
  constexpr std::array<std::uint32_t, analyse::call_costs::kinds> numbers = {SYS_getppid, SYS_pwrite64, SYS_pread64,
                                                                             SYS_newfstatat};
  std::array<double, analyse::call_costs::kinds> stretches{};
  for (std::size_t kind = 0; kind < numbers.size(); ++kind) {
    double best = 0;
    for (const auto& [key, counts] : recording.calls) {
      if (key.number != numbers[kind] || counts[format::calls] != calls_of_a_round) continue;
      const double ns = static_cast<double>(format::nanoseconds(recording.clock, counts[format::call_ticks])) /
                        static_cast<double>(calls_of_a_round);
      if (best == 0 || ns < best) best = ns;
    }
    if (best == 0 || plain.plain_ns[kind] <= 0) return 0;
    stretches[kind] = best / plain.plain_ns[kind];
  }
  std::sort(stretches.begin(), stretches.end());
  return (stretches[1] + stretches[2]) / 2;
}

}  // namespace tarn::command
