// Spends its CPU time in known shares: in each of two threads, spin<60>, spin<30> and spin<10> take turns, and do
// 60, 30 and 10 hundredths of the work. shares ROUNDS [PIPE]; with a name, it waits for a byte from standard input
// first.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

std::atomic<std::uint64_t> result = 0;

// Each step waits for the one before it, so that the time of a step depends neither on where the loop lies nor on what
// surrounds it.
template <int Share>
[[gnu::noinline]] std::uint64_t spin(std::uint64_t value, std::uint64_t steps) {
  for (std::uint64_t step = 0; step < steps * Share; ++step) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    asm volatile("" : "+r"(value));
  }
  return value;
}

[[gnu::noinline]] std::uint64_t take_turns(std::uint64_t rounds) {
  std::uint64_t value = rounds;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t steps = 100 + (value >> 40) % 1000;  // so that the turns keep no step with the samples
    value = spin<60>(value, steps);
    value = spin<30>(value, steps);
    value = spin<10>(value, steps);
  }
  return value;
}

void work(std::uint64_t rounds) { result += take_turns(rounds); }

}  // namespace

int main(int count, char** arguments) {
  const std::uint64_t rounds = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1000;
  if (count > 2) {
    std::puts("ready");
    std::fflush(stdout);
    std::getchar();
  }
  std::thread second(work, rounds);
  work(rounds);
  second.join();
  return result == 0 ? 1 : 0;
}
