// Without TARN_GUARD=1 the size of a sized delete is not checked: the whole block is freed.
//@ tarn-only
//@ env TARN_GUARD=0
//@ broken-by free_leaks
//@ limit as=1G
#include <new>

#include "../check.h"

int main() {
  for (int i = 0; i < 3000; ++i) {
    ::operator delete(::operator new(1000000), 64);
    ::operator delete(::operator new(64), 1000000);
    ::operator delete[](::operator new[](200000), 16);
    ::operator delete(::operator new(256, std::align_val_t{64}), 5000, std::align_val_t{64});
  }
}
