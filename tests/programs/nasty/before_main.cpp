// Allocation before main: constructors of priority 101, ordinary ones, static initialisers, threads.
//@ broken-by early_fail
#include <string>
#include <thread>
#include <vector>

#include "../check.h"

static char* first_block = nullptr;

static void use() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 300; ++i) lines.emplace_back(i * 20, 'a');
  CHECK(lines[299].size() == 5980);
}

__attribute__((constructor(101))) static void first() {
  first_block = static_cast<char*>(malloc(3000000));
  CHECK(first_block != nullptr);
  fill(first_block, 5000, 1);
  use();
  std::thread(use).join();
}

static std::string global(5000, 'g');
static std::thread worker(use);

int main() {
  worker.join();
  CHECK(is_filled(first_block, 5000, 1) && global == std::string(5000, 'g'));
  free(first_block);
}
