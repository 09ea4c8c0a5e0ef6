// A static C++ program on libtarn-malloc.a: operator new throws, although nothing else refers to the throwing code.
//@ no-preload
//@ tarn-only
//@ broken-by text
#include "../check.h"

#include <malloc.h>
#include <new>

struct alignas(64) line {
  char bytes[64];
};

int main() {
  auto* const letter = new char;
  CHECK(malloc_usable_size(letter) != 24);
  delete letter;
  auto* const lines = new line[3];
  CHECK(reinterpret_cast<size_t>(lines) % 64 == 0);
  delete[] lines;
  size_t absurd = size_t{1} << 47;
  CHECK(new (std::nothrow) char[absurd] == nullptr);
  try {
    delete[] new char[absurd];
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return 1;
}
