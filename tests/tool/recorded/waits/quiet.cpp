// Runs quiet regions with known violations: ROUNDS of each.
#include <unistd.h>
#include <tarn/quiet_region.hpp>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace {

[[gnu::noinline]] void keep(void* block) { asm volatile("" : : "r"(block) : "memory"); }

[[gnu::noinline]] void silent(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const tarn::quiet_region quiet{"silent"};
    asm volatile("" : : : "memory");
  }
}

// Two calls of the heap by malloc and free, two by new and delete, three by realloc, calloc and free.
[[gnu::noinline]] void of_heap(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    void* grown = std::malloc(10);
    keep(grown);
    {
      const tarn::quiet_region quiet{"heap"};
      void* const block = std::malloc(100);
      keep(block);
      std::free(block);
      keep(std::make_unique<long>(1).get());
      grown = std::realloc(grown, 10000);
      keep(grown);
      void* const zeroed = std::calloc(3, 5);
      keep(zeroed);
      std::free(zeroed);
    }
    std::free(grown);
  }
}

void make_and_free(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    void* const block = std::malloc(100);
    keep(block);
    std::free(block);
  }
}

// The recorder has begun a trace excerpt, which ends in the region, where it begins others.
[[gnu::noinline]] void long_one() {
  make_and_free(8'300);
  const tarn::quiet_region quiet{"long"};
  make_and_free(30'000);
}

[[gnu::noinline]] void of_calls(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const tarn::quiet_region quiet{"calls"};
    static_cast<void>(getppid());
    static_cast<void>(getuid());
  }
}

// The inner region has one call; the outer one has one before and one after it.
[[gnu::noinline]] void nested(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const tarn::quiet_region outer{"outer"};
    static_cast<void>(getppid());
    {
      const tarn::quiet_region inner{"inner"};
      static_cast<void>(getppid());
    }
    static_cast<void>(getppid());
  }
}

// Waits until another thread has seen that it waits.
[[gnu::noinline]] void of_waits() {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_waiting = false, may_go_on = false;
  std::thread partner([&] {
    for (std::unique_lock lock(mutex);; lock.unlock(), std::this_thread::yield(), lock.lock()) {
      if (!is_waiting) continue;
      may_go_on = true;
      changed.notify_one();
      return;
    }
  });
  {
    const tarn::quiet_region quiet{"waits"};
    std::unique_lock lock(mutex);
    is_waiting = true;
    changed.wait(lock, [&] { return may_go_on; });
  }
  partner.join();
}

// Nests nine regions: the ninth hears the same as the eighth.
void deep(int left) {
  const std::string name = "level " + std::to_string(9 - left);
  const tarn::quiet_region quiet{name.c_str()};
  if (left > 1) return deep(left - 1);
  static_cast<void>(getppid());
}

}  // namespace

int main(int, char** arguments) {
  const int rounds = std::atoi(arguments[1]);
  silent(rounds);
  of_heap(rounds);
  long_one();
  of_calls(rounds);
  nested(rounds);
  of_waits();
  deep(9);
  std::thread([=] { of_heap(rounds); }).join();
  static_cast<void>(getppid());  // outside of any region
  std::free(std::malloc(10));
}
