// bench-requests THREADS ROUNDS BLOCKS: a server with a thread for each connection. Each thread sleeps until it is told
// to serve a request, for which it allocates BLOCKS blocks of 40 sizes up to 4 KiB and frees them; one block stays for
// the next eight requests. Prints the processor time of a request and the memory of the process.
#include <semaphore.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

namespace {

constexpr unsigned max_under_way = 16, lasting_count = 8, sizes = 40, small_sizes = 16;

struct random_numbers {
  std::uint32_t state;
  std::uint32_t next(std::uint32_t limit) noexcept { return (state = state * 1664525 + 1013904223) / 65536 % limit; }
};

struct worker {
  worker() { sem_init(&request, 0, 0); }
  sem_t request;
  std::thread thread;
};

std::size_t bytes_of(unsigned size) noexcept { return size < small_sizes ? (size + 1) * 16 : 256 + (size - 15) * 154; }

void serve(sem_t& request, sem_t& answers, unsigned rounds, unsigned blocks, std::uint32_t seed) {
  random_numbers random{seed * 2654435761U + 1};
  void* lasting_blocks[lasting_count] = {};
  std::vector<char*> brief_blocks(blocks);
  for (unsigned round = 0; round < rounds; ++round) {
    while (sem_wait(&request) != 0) continue;
    for (char*& block : brief_blocks) {
      const std::size_t bytes = bytes_of(random.next(sizes));
      block = static_cast<char*>(std::malloc(bytes));
      block[0] = block[bytes - 1] = 1;
    }
    for (char* const block : brief_blocks) std::free(block);
    void*& oldest = lasting_blocks[round % lasting_count];
    std::free(oldest);
    oldest = std::malloc(100 + round % 300);
    sem_post(&answers);
  }
  for (void* const block : lasting_blocks) std::free(block);
}

long status_kib(const char* field) {
  long kib = 0;
  char line[256];
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, field, std::strlen(field)) == 0) kib = std::atol(line + std::strlen(field) + 1);
  }
  if (file != nullptr) std::fclose(file);
  return kib;
}

double processor_us() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int index) {
    return index < count ? static_cast<unsigned>(std::strtoul(arguments[index], nullptr, 10)) : 0;
  };
  const unsigned threads = number(1), rounds = number(2), blocks = number(3);
  if (count != 4 || threads == 0 || rounds == 0 || blocks == 0) {
    std::fprintf(stderr, "usage: %s THREADS ROUNDS BLOCKS, each a number from 1\n", arguments[0]);
    return 2;
  }
  sem_t answers;
  sem_init(&answers, 0, 0);
  std::deque<worker> workers(threads);
  std::vector<unsigned> order;
  for (unsigned index = 0; index < threads; ++index) {
    worker& started = workers[index];
    started.thread = std::thread([&, index] { serve(started.request, answers, rounds, blocks, index); });
    order.insert(order.end(), rounds, index);
  }
  random_numbers random{7};
  for (std::size_t last = order.size(); last > 1; --last) {
    const std::uint64_t bits = std::uint64_t{random.next(65536)} << 16 | random.next(65536);
    std::swap(order[last - 1], order[bits % last]);
  }
  const double start_us = processor_us();
  unsigned under_way = 0;
  const auto await_answer = [&] {
    while (sem_wait(&answers) != 0) continue;
    --under_way;
  };
  for (const unsigned index : order) {
    sem_post(&workers[index].request);
    if (++under_way == max_under_way) await_answer();
  }
  while (under_way != 0) await_answer();
  const double us = (processor_us() - start_us) / static_cast<double>(order.size());
  const long peak = status_kib("VmHWM");
  for (worker& sleeper : workers) sleeper.thread.join();
  usleep(1'500'000);
  std::printf("%.1f us of processor time a request, peak %ld KiB, %ld KiB 1.5 s after the end\n", us, peak,
              status_kib("VmRSS"));
}
