// Sizes that overflow when they are rounded up to the alignment are refused; libstdc++ 12 grants them.
//@ tarn-only
//@ broken-by memalign_overflow
#include <initializer_list>
#include <limits>
#include <new>

#include "../check.h"

int main() {
  constexpr std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max();
  for (volatile std::size_t absurd : {limit, limit + 1, SIZE_MAX - 62, SIZE_MAX - 15, SIZE_MAX}) {
    CHECK(::operator new(absurd, std::align_val_t{64}, std::nothrow) == nullptr);
    CHECK(::operator new[](absurd, std::align_val_t{64}, std::nothrow) == nullptr);
    try {
      static_cast<void>(::operator new(absurd, std::align_val_t{4096}));
      CHECK(false);
    } catch (const std::bad_alloc&) {
    }
  }
}
