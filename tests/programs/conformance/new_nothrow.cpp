// The nothrow forms give blocks, or null for absurd sizes, and have their own deletes.
//@ broken-by nothrow_throws malloc_short
#include <initializer_list>
#include <limits>
#include <new>

#include "../check.h"

int main() {
  for (std::size_t size = 0; size < 3000000; size = size * 2 + 1) {
    void* p = ::operator new(size, std::nothrow);
    void* q = ::operator new[](size, std::nothrow);
    CHECK(p != nullptr && q != nullptr && p != q);
    fill(p, size, 1);
    fill(q, size, 2);
    CHECK(is_filled(p, size, 1));
    ::operator delete(p, std::nothrow);
    ::operator delete[](q, std::nothrow);
  }
  constexpr std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max();
  for (volatile std::size_t absurd : {limit, limit + 1, SIZE_MAX - 15, SIZE_MAX}) {
    CHECK(::operator new(absurd, std::nothrow) == nullptr);
    CHECK(::operator new[](absurd, std::nothrow) == nullptr);
  }
}
