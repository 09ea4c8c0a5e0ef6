// The aligned forms, plain, array and nothrow, with every matching delete.
//@ broken-by memalign_weak memalign_short
#include <new>

#include "../check.h"

int main() {
  for (std::size_t bytes = 1; bytes <= (2u << 20); bytes *= 2) {
    const std::align_val_t alignment{bytes};
    for (std::size_t size = 0; size < 3000000; size = size * 4 + 3) {
      void* p[4] = {::operator new(size, alignment), ::operator new[](size, alignment),
                    ::operator new(size, alignment, std::nothrow), ::operator new[](size, alignment, std::nothrow)};
      for (int i = 0; i < 4; ++i) {
        CHECK(p[i] != nullptr && is_aligned(p[i], bytes));
        memset(p[i], i + 1, size);
      }
      for (int i = 0; i < 4; ++i) {
        auto* bytes_of = static_cast<char*>(p[i]);
        CHECK(size == 0 || (bytes_of[0] == i + 1 && bytes_of[size - 1] == i + 1));
      }
      ::operator delete(p[0], alignment);
      ::operator delete[](p[1], alignment);
      ::operator delete(p[2], alignment, std::nothrow);
      ::operator delete[](p[3], alignment, std::nothrow);
    }
  }
  ::operator delete(nullptr, std::align_val_t{64});
  ::operator delete[](nullptr, std::align_val_t{64});
}
