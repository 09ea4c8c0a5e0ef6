// Has sites of known categories and counts, for `tarn report` to find. Arguments: the number of rounds, and
// how to end.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

int rounds = 0;
char* table[64];
std::vector<char*> hoard;
std::atomic<char*> hand = nullptr;

[[gnu::noinline]] void build_table() {
  for (char*& entry : table) entry = static_cast<char*>(std::malloc(500));
}

[[gnu::noinline]] void make_temporaries() {
  for (int round = 0; round < rounds; ++round) {
    char* volatile const buffer = new char[100];
    delete[] buffer;
  }
}

[[gnu::noinline]] void produce() {
  for (int round = 0; round < rounds; ++round) {
    char* const buffer = static_cast<char*>(std::malloc(64));
    while (hand.load(std::memory_order_acquire) != nullptr) ::usleep(0);
    hand.store(buffer, std::memory_order_release);
  }
}

[[gnu::noinline]] void consume() {
  for (int round = 0; round < rounds; ++round) {
    char* block;
    while ((block = hand.exchange(nullptr, std::memory_order_acquire)) == nullptr) ::usleep(0);
    std::free(block);
  }
}

[[gnu::noinline]] void keep() {
  hoard.reserve(static_cast<std::size_t>(rounds));
  for (int round = 0; round < rounds; ++round) hoard.push_back(static_cast<char*>(std::malloc(40)));
}

[[gnu::noinline]] void grow() {
  for (int round = 0; round < rounds; ++round) {
    char* buffer = nullptr;
    for (std::size_t size = 16; size <= 4096; size *= 2) buffer = static_cast<char*>(std::realloc(buffer, size));
    std::free(buffer);
  }
}

// Two callers whose frames are alike, in turn: the registers at malloc are the same, and only words on the stack
// differ.
[[gnu::noinline]] char* leaf(std::size_t size) {
  char* volatile const buffer = static_cast<char*>(std::malloc(size));
  return buffer;
}
[[gnu::noinline]] char* left(std::size_t size) {
  char* volatile const buffer = leaf(size);
  return buffer;
}
[[gnu::noinline]] char* right(std::size_t size) {
  char* volatile const buffer = leaf(size);
  return buffer;
}
void alternate() {
  for (int round = 0; round < rounds; ++round) std::free((round % 3 == 0 ? left : right)(24));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  rounds = std::atoi(arguments[1]);
  const std::string end = arguments[2];
  build_table();
  {
    std::thread producer(produce), consumer(consume), worker(make_temporaries);
    producer.join();
    consumer.join();
    worker.join();
  }
  keep();
  grow();
  alternate();
  if (end == "fork") {
    const pid_t child = ::fork();
    if (child == 0) {
      make_temporaries();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  if (end == "exec") ::execl(arguments[0], arguments[0], arguments[1], "0", static_cast<char*>(nullptr));
  if (end == "kill") ::raise(SIGKILL);
  if (end == "abort") std::abort();
  if (end == "wait") ::pause();
  return std::atoi(end.c_str());
}
