// Kills a process that writes a journal at random moments, a thousand times, and compares what it acknowledged with
// what the journal holds.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tarn/io.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "settings.hpp"

namespace bench_io {

struct killed {
  static constexpr unsigned threads = 2;
  std::uint64_t returned = 0;  // lines whose append returned
  std::uint64_t lost = 0;      // acknowledged lines that are missing
  std::uint64_t torn = 0;      // lines that are marked as torn
  std::uint64_t wrong = 0;     // lines shown as whole that nobody appended in this form
};

/// Returns the text that thread `thread` writes as its line `number`.
inline std::string killed_line(unsigned thread, std::uint64_t number) {
  return fmt::format("{} {} {:.>{}}", thread, number, "", number % 97);
}

/// Runs one process: its threads append and note each append that returned, until the process is killed.
inline void live_and_die(const std::string& path, std::uint64_t after_us, killed& sum) {
  using counter = std::atomic<std::uint64_t>;
  auto* const returned = static_cast<counter*>(mmap(nullptr, sizeof(counter) * (killed::threads + 1),
                                                    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::filesystem::remove(path);
  const pid_t child = fork();
  if (child == 0) {
    tarn::io::journal log(path, {.bytes = 16 << 20, .chunk = 4096, .lanes = 4, .prepare = 0});
    std::vector<std::thread> appenders;
    for (unsigned thread = 0; thread < killed::threads; ++thread) {
      appenders.emplace_back([&, thread] {
        for (std::uint64_t number = 0; number < 50'000; ++number) {
          log.append(killed_line(thread, number));
          returned[thread].store(number + 1, std::memory_order_relaxed);
          returned[killed::threads].store(1, std::memory_order_relaxed);
        }
      });
    }
    for (std::thread& thread : appenders) thread.join();
    _exit(0);
  }
  while (returned[killed::threads].load() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(after_us));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);

  std::vector<std::uint64_t> next(killed::threads);
  const tarn::io::journal_reader contents(path);
  for (const tarn::io::journal_line& line : contents.lines()) {
    if (line.state != tarn::io::journal_line::condition::whole) continue;
    const unsigned thread = line.text.empty() ? 0u : static_cast<unsigned>(line.text[0] - '0') % killed::threads;
    sum.wrong += line.text != killed_line(thread, next[thread]);
    ++next[thread];
  }
  for (unsigned thread = 0; thread < killed::threads; ++thread) {
    sum.returned += returned[thread];
    sum.lost += returned[thread] > next[thread] ? returned[thread] - next[thread] : 0;
  }
  sum.torn += contents.torn();
  sum.wrong += contents.damaged() + contents.lost_pieces();
  munmap(returned, sizeof(counter) * (killed::threads + 1));
}

/// Returns false when an acknowledged line is lost, or a line is shown that was not appended.
inline bool run_kills(const settings& wanted, const folder& place) {
  std::mt19937_64 random(17);
  killed sum;
  for (int life = 0; life < wanted.kills; ++life) live_and_die(place.path("killed"), random() % 3000, sum);
  fmt::print("\n{} random SIGKILLs of a process of {} threads that append\n", wanted.kills, killed::threads);
  fmt::print("  {} lines acknowledged, {} of them lost; {} torn, and marked so; {} wrong ones shown\n", sum.returned,
             sum.lost, sum.torn, sum.wrong);
  return sum.lost == 0 && sum.wrong == 0;
}

}  // namespace bench_io
