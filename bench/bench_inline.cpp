// Runs the rows through the library's own types: bench-inline FORM …, where FORM is pooled, allocator or heap.
#include "command.hpp"
#include "front_tarn.hpp"

int main(int count, char** arguments) {
  using namespace bench;
  const auto form = [&](const char* name) { return count > 1 && std::strcmp(arguments[1], name) == 0; };
  if (form(pooled_front::name)) return command<pooled_front>(count - 2, arguments + 2);
  if (form(allocator_front::name)) return command<allocator_front>(count - 2, arguments + 2);
  if (form(heap_front::name)) return command<heap_front>(count - 2, arguments + 2);
  std::fprintf(stderr, "usage: bench-inline pooled|allocator|heap rows|row|steady|footprint …\n");
  return 2;
}
