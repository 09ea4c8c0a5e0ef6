// Allocation after main: atexit handlers, static destructors, handlers registered by handlers.
//@ broken-by exit_closed
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../check.h"

static void use() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 500; ++i) lines.emplace_back(i * 10, 'a');
  char* p = static_cast<char*>(malloc(5000000));
  CHECK(p != nullptr && lines[499].size() == 4990);
  p[4999999] = 1;
  free(p);
}

struct at_end {
  std::unique_ptr<std::string> text = std::make_unique<std::string>(1000, 'e');
  ~at_end() {
    CHECK(*text == std::string(1000, 'e'));
    use();
    std::atexit(use);
  }
};

static at_end last_object;

__attribute__((destructor)) static void last() { use(); }

int main() {
  static at_end two;
  std::atexit([] {
    use();
    std::atexit(use);
  });
  use();
}
