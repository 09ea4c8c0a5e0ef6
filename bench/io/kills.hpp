// Kills a process that writes a journal at a random moment, `kills` times, and compares the lines that it acknowledged
// with those in the journal.
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

struct kill_counts {
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

/// Runs one process, whose threads append and count the appends that returned, kills it after `after_us`, and adds what
/// its journal holds to `sum`.
inline void kill_and_compare(const std::string& path, std::uint64_t after_us, kill_counts& sum) {
  using counter = std::atomic<std::uint64_t>;
  auto* const returned = static_cast<counter*>(mmap(nullptr, sizeof(counter) * (kill_counts::threads + 1),
                                                    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::filesystem::remove(path);
  const pid_t child = fork();
  if (child == 0) {
    tarn::io::journal log(path, {.bytes = 16 << 20, .chunk_bytes = 4096, .lanes = 4, .prefault_bytes = 0});
    std::vector<std::thread> appenders;
    for (unsigned thread = 0; thread < kill_counts::threads; ++thread) {
      appenders.emplace_back([&, thread] {
        for (std::uint64_t number = 0; number < 50'000; ++number) {
          log.append(killed_line(thread, number));
          returned[thread].store(number + 1, std::memory_order_relaxed);
          returned[kill_counts::threads].store(1, std::memory_order_relaxed);
        }
      });
    }
    for (std::thread& thread : appenders) thread.join();
    _exit(0);
  }
  while (returned[kill_counts::threads].load() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(after_us));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);

  std::vector<std::uint64_t> next(kill_counts::threads);
  const tarn::io::journal_reader contents(path);
  for (const tarn::io::journal_line& line : contents.lines()) {
    if (line.state != tarn::io::journal_line::condition::whole) continue;
    const unsigned thread = line.text.empty() ? 0u : static_cast<unsigned>(line.text[0] - '0') % kill_counts::threads;
    sum.wrong += line.text != killed_line(thread, next[thread]);
    ++next[thread];
  }
  for (unsigned thread = 0; thread < kill_counts::threads; ++thread) {
    sum.returned += returned[thread];
    sum.lost += returned[thread] > next[thread] ? returned[thread] - next[thread] : 0;
  }
  sum.torn += contents.torn_lines();
  sum.wrong += contents.damaged_lines() + contents.lost_pieces();
  munmap(returned, sizeof(counter) * (kill_counts::threads + 1));
}

/// Returns false when an acknowledged line is lost, or a line is shown that was not appended.
inline bool run_kills(const settings& parameters, const folder& work_folder) {
  std::mt19937_64 random(17);
  kill_counts sum;
  for (int number = 0; number < parameters.kills; ++number)
    kill_and_compare(work_folder.path("killed"), random() % 3000, sum);
  fmt::print("\n{} random SIGKILLs of a process of {} threads that append\n", parameters.kills, kill_counts::threads);
  fmt::print("  {} lines acknowledged, {} of them lost; {} torn and marked as torn; {} wrong lines read\n",
             sum.returned, sum.lost, sum.torn, sum.wrong);
  return sum.lost == 0 && sum.wrong == 0;
}

}  // namespace bench_io
