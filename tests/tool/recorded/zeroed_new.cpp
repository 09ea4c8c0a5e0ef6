// An operator new that is the C library's calloc.
#include <cstddef>
#include <cstdlib>
#include <new>

void* operator new(std::size_t bytes) {
  if (void* const block = std::calloc(1, bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
