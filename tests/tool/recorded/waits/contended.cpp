// Builds vectors in functions that are alike, by threads that take one lock for each of them:
//   contended ROUNDS THREADS          the vectors grow step by step
//   contended ROUNDS THREADS reserve  they get their memory at once, as a report of the other run advises
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int elements = 12;
constexpr int vectors = 7, singles = 5;  // sites whose allocations a reserve saves, and other ones
bool is_reserving = false;
std::mutex total_mutex;
long total = 0;

// Each instance is a site, with code of its own.
template <int site>
[[gnu::noinline]] long grown(int seed) {
  std::vector<int> numbers;
  if (is_reserving) numbers.reserve(elements);
  for (int index = 0; index < elements; ++index) numbers.push_back(seed * index + site);
  return std::accumulate(numbers.begin(), numbers.end(), 0L);
}

template <int site>
[[gnu::noinline]] std::unique_ptr<long> single(long value) {
  return std::make_unique<long>(value + site);
}

void add(long sum) {
  const std::lock_guard lock(total_mutex);
  total += sum;
}

template <int... indices>
void work(int rounds, std::integer_sequence<int, indices...>) {
  for (int round = 0; round < rounds; ++round) {
    (add(grown<indices>(round) + *single<indices % singles>(round)), ...);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const int rounds = std::atoi(arguments[1]);
  is_reserving = count > 3 && std::string_view(arguments[3]) == "reserve";
  std::vector<std::thread> threads;
  for (int thread = std::atoi(arguments[2]); thread > 0; --thread)
    threads.emplace_back([rounds] { work(rounds, std::make_integer_sequence<int, vectors>()); });
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld\n", total);
}
