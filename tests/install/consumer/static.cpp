// A static program on the drop-in: says whose malloc it has, by the usable bytes of a small block.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

int main() {
  const auto text = std::make_unique<std::string>(100, 'x');
  void* const block = std::malloc(text->size() - 99);
  std::puts(malloc_usable_size(block) == 16 ? "Tarn" : "another malloc");
  std::free(block);
  return 0;
}
