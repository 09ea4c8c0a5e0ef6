// A program that replaces operator new itself, on top of malloc, gets every request of libstdc++.
//@ broken-by malloc_short
#include <new>
#include <sstream>
#include <vector>

#include "../check.h"

static long allocated = 0, deleted = 0;

void* operator new(std::size_t size) {
  ++allocated;
  auto* p = static_cast<std::size_t*>(malloc(size + 16));
  if (p == nullptr) throw std::bad_alloc{};
  *p = 4711;
  return p + 2;
}

void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  ++deleted;
  auto* head = static_cast<std::size_t*>(p) - 2;
  CHECK(*head == 4711);
  free(head);
}

void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

int main() {
  {
    std::vector<std::string> lines;
    for (int i = 0; i < 1000; ++i) {
      std::ostringstream out;
      out << "a line that is longer than the small string buffer: " << i;
      lines.push_back(out.str());
    }
    int* array = new int[100];
    delete[] array;
    delete new std::string(100, 'x');
  }
  CHECK(allocated > 2000 && allocated == deleted);
}
