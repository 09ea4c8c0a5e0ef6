// Is linked at a fixed address, so that the addresses of malloc and operator new are those of its own PLT entries.
#include <cstddef>
#include <cstdlib>
#include <new>

int main() {
  void* (*volatile by_malloc)(std::size_t) = &std::malloc;
  void* (*volatile by_new)(std::size_t) = &::operator new;
  std::free(by_malloc(8));
  ::operator delete(by_new(8));
}
