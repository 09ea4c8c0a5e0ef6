// operator new and delete, alone and as arrays, all sizes: usable, aligned, apart.
//@ broken-by malloc_short malloc_odd malloc_overlap
#include <new>
#include <vector>

#include "../check.h"

int main() {
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::size_t size = 1; size < 3000000; size = size * 9 / 8 + 1) {
    for (bool array : {false, true}) {
      char* p = static_cast<char*>(array ? ::operator new[](size) : ::operator new(size));
      CHECK(p != nullptr && is_aligned(p, size < 16 ? 8 : 16));
      fill(p, size, static_cast<unsigned>(size));
      blocks.emplace_back(p, size);
    }
  }
  bool array = false;
  for (auto [p, size] : blocks) {
    CHECK(is_filled(p, size, static_cast<unsigned>(size)));
    if (array) {
      ::operator delete[](p);
    } else {
      ::operator delete(p);
    }
    array = !array;
  }
  ::operator delete(nullptr);
  ::operator delete[](nullptr);
}
