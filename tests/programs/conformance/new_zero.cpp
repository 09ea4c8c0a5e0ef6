// operator new of no bytes gives a pointer of its own each time.
//@ broken-by zero_is_same new_zero_is_null
#include <new>
#include <set>

#include "../check.h"

int main() {
  std::set<void*> seen;
  for (int i = 0; i < 300; ++i) {
    void* p = i % 4 == 0   ? ::operator new(0)
              : i % 4 == 1 ? ::operator new[](0)
              : i % 4 == 2 ? ::operator new(0, std::nothrow)
                           : ::operator new(0, std::align_val_t{64});
    CHECK(p != nullptr && seen.insert(p).second);
  }
  for (void* p : seen) {
    free(p);  // one family: the drop-in's free takes blocks of operator new
  }
}
