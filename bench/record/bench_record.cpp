// Programs that only make events that a recorder records, ten frames deep. They are built twice, with and without frame
// pointers:
//   bench-record blocks|locks|table|mutex|semaphore|calls|threads|tree TIMES [THREADS]
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int frames_around = 8;

template <class Function>
[[gnu::noinline]] auto deep(int frames, Function&& call) -> decltype(call()) {
  auto result = frames == 0 ? call() : deep(frames - 1, call);
  asm volatile("" : "+r"(result));  // prevents a tail call
  return result;
}

// Each thread has 64 blocks of 16 to 128 bytes in use.
void blocks(long times) {
  std::array<void*, 64> in_use = {};
  for (long time = 0; time < times; ++time) {
    void*& slot = in_use[static_cast<std::size_t>(time) % in_use.size()];
    std::free(slot);
    const auto bytes = static_cast<std::size_t>(16 + time % 8 * 16);
    slot = deep(frames_around, [bytes] { return std::malloc(bytes); });
  }
  for (void* block : in_use) std::free(block);
}

void locks(long times) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  for (long time = 0; time < times; ++time) {
    deep(frames_around, [&lock] { return pthread_mutex_lock(&lock) + pthread_mutex_unlock(&lock); });
  }
}

// All threads update one table under one lock.
void table(long times) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static std::array<long, 4096> counts = {};
  constexpr int steps = 30;  // outside of the lock
  std::uint64_t key = reinterpret_cast<std::uintptr_t>(&key);
  for (long time = 0; time < times; ++time) {
    for (int step = 0; step < steps; ++step) key = key * 0x9e3779b97f4a7c15 + 1;
    deep(frames_around, [key, time] {
      pthread_mutex_lock(&lock);
      counts[key >> 52] += time;
      return pthread_mutex_unlock(&lock);
    });
  }
}

// All threads take one lock and release it, and do nothing else.
void mutex(long times) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  for (long time = 0; time < times; ++time) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
}

void semaphore(long times) {
  static sem_t lock;
  static const bool is_ready = ::sem_init(&lock, 0, 1) == 0;
  for (long time = 0; is_ready && time < times; ++time) {
    while (::sem_wait(&lock) != 0) {
    }
    ::sem_post(&lock);
  }
}

void calls(long times) {
  const int zeroes = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  for (long time = 0; time < times; ++time) {
    char byte;
    if (deep(frames_around, [&] { return ::read(zeroes, &byte, 1); }) != 1) std::exit(1);
  }
  ::close(zeroes);
}

// Each thread lives for one allocation.
void threads(long times) {
  for (long time = 0; time < times; ++time) {
    std::thread([] { std::free(std::malloc(100)); }).join();
  }
}

// A tree of blocks that is built and freed by recursion, so that each block has a call stack of its own depth.
struct node {
  node *left, *right;
};
node* build(long nodes) {
  if (nodes == 0) return nullptr;
  auto* const root = static_cast<node*>(std::malloc(sizeof(node)));
  root->left = build((nodes - 1) / 2);
  root->right = build(nodes - 1 - (nodes - 1) / 2);
  return root;
}
void free_all(node* root) {
  if (root == nullptr) return;
  free_all(root->left);
  free_all(root->right);
  std::free(root);
}
void tree(long times) {
  for (long built = 0; built < times; built += 1023) free_all(build(1023));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view event = count > 2 ? arguments[1] : "";
  auto* const call = event == "blocks"      ? blocks
                     : event == "locks"     ? locks
                     : event == "table"     ? table
                     : event == "mutex"     ? mutex
                     : event == "semaphore" ? semaphore
                     : event == "calls"     ? calls
                     : event == "threads"   ? threads
                     : event == "tree"      ? tree
                                            : nullptr;
  if (call == nullptr) {
    std::fputs("usage: bench-record blocks|locks|table|mutex|semaphore|calls|threads|tree TIMES [THREADS]\n", stderr);
    return 2;
  }
  const long times = std::atol(arguments[2]);
  std::vector<std::jthread> threads(count > 3 ? static_cast<std::size_t>(std::atol(arguments[3])) : 1);
  for (std::jthread& thread : threads) thread = std::jthread(call, times);
}
