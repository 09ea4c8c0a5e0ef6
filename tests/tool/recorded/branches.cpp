// Threads that allocate by ways that fork thirteen times: 8,192 call stacks, each taken once by each of four threads.
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

void* go(unsigned way, int forks);
// The call sites in these two functions tell the stacks apart.
[[gnu::noinline]] void* left(unsigned way, int forks) {
  void* const block = go(way, forks);
  asm volatile("" : : "r"(block));
  return block;
}
[[gnu::noinline]] void* right(unsigned way, int forks) {
  void* const block = go(way, forks);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
[[gnu::noinline]] void* go(unsigned way, int forks) {
  void* block;
  if (forks == 0) {
    block = std::malloc(1);
  } else if ((way & 1) != 0) {
    block = left(way / 2, forks - 1);
  } else {
    block = right(way / 2, forks - 1);
  }
  asm volatile("" : : "r"(block));
  return block;
}

}  // namespace

int main() {
  constexpr int forks = 13;
  std::vector<std::jthread> threads(4);
  for (std::jthread& thread : threads) {
    thread = std::jthread([] {
      for (unsigned way = 0; way < 1U << forks; ++way) std::free(go(way, forks));
    });
  }
}
