// Allocates in functions that are inlined, and in lambdas: each line that a report is to name ends with its word.
#include <cstdlib>
#include <thread>

namespace ns {

inline void take(std::size_t bytes) {
  void* volatile const block = std::malloc(bytes);  // take
  std::free(block);
}

struct server {
  void work() const {
    const auto make = [](std::size_t bytes) { take(bytes); };  // lambda
    for (int round = 0; round < 100; ++round) make(100);       // work
  }
};

}  // namespace ns

int main() {
  std::thread([] { ns::server().work(); }).join();  // main
}
