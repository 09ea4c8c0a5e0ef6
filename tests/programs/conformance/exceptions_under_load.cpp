// Exceptions thrown across threads and kept by exception_ptr outlive the thread that threw them.
//@ broken-by malloc_overlap
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../check.h"

int main() {
  std::vector<std::exception_ptr> kept(64);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      threads.emplace_back([&kept, i] {
        try {
          throw std::runtime_error(std::string(i + 50, 'e'));
        } catch (...) {
          kept[i] = std::current_exception();
        }
      });
    }
    for (auto& each : threads) each.join();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      try {
        std::rethrow_exception(kept[i]);
      } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()) == std::string(i + 50, 'e'));
      }
    }
  }
}
