// The sized forms, with and without alignment, with the right size: null and many sizes.
//@ broken-by sized_delete_crashes
#include <initializer_list>
#include <new>

#include "../check.h"

int main() {
  for (int round = 0; round < 50; ++round) {
    for (std::size_t size = 0; size < 3000000; size = size * 3 / 2 + 1) {
      ::operator delete(::operator new(size), size);
      ::operator delete[](::operator new[](size), size);
      ::operator delete(::operator new(size, std::nothrow), size);
      for (std::size_t bytes : {8, 16, 64, 512, 4096}) {
        const std::align_val_t alignment{bytes};
        ::operator delete(::operator new(size, alignment), size, alignment);
        ::operator delete[](::operator new[](size, alignment), size, alignment);
      }
    }
  }
  ::operator delete(nullptr, std::size_t{16});
  ::operator delete[](nullptr, std::size_t{16});
  ::operator delete(nullptr, std::size_t{16}, std::align_val_t{64});
  ::operator delete[](nullptr, std::size_t{16}, std::align_val_t{64});
}
