// Without a handler the throwing forms throw bad_alloc, and allocation works in the catch block.
//@ broken-by new_returns_null
#include <new>
#include <string>
#include <vector>

#include "../check.h"

template <class Function>
static void throws(Function allocate) {
  try {
    allocate();
    CHECK(false);
  } catch (const std::bad_alloc& error) {
    CHECK(std::string(error.what()).find("bad_") != std::string::npos);
    std::vector<std::string> more(100, std::string(100, 'm'));
    CHECK(more[99][99] == 'm');
  }
}

int main() {
  volatile std::size_t absurd = static_cast<std::size_t>(PTRDIFF_MAX) + 1;
  volatile std::size_t limit = PTRDIFF_MAX;
  for (int i = 0; i < 100; ++i) {
    throws([&] { return ::operator new(absurd); });
    throws([&] { return ::operator new(limit); });
    throws([&] { return ::operator new[](SIZE_MAX - absurd / 1024 / 1024 / 1024); });
    throws([&] { return ::operator new(absurd, std::align_val_t{64}); });
    throws([&] { return ::operator new[](absurd, std::align_val_t{4096}); });
    throws([&] { return new std::string[absurd / 8]; });
  }
}
