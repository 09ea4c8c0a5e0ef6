// A program that replaces operator new and delete in their simplest forms alone gets every request of the others, which
// the language says call these.
//@ broken-by malloc_short
#include <new>
#include <string>
#include <vector>

#include "../check.h"

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wsized-deallocation"
#endif

static long allocated = 0, deleted = 0, aligned = 0, aligned_deleted = 0;

void* operator new(std::size_t size) {
  if (size > 1u << 20) throw std::bad_alloc{};
  ++allocated;
  auto* head = static_cast<std::size_t*>(malloc(size + 16));
  if (head == nullptr) throw std::bad_alloc{};
  *head = 4711;
  return head + 2;
}
void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  ++deleted;
  auto* head = static_cast<std::size_t*>(p) - 2;
  CHECK(*head == 4711);
  *head = 0;
  free(head);
}

void* operator new(std::size_t size, std::align_val_t) {
  ++aligned;
  char* block = static_cast<char*>(aligned_alloc(256, (size + 256 + 255) / 256 * 256));
  if (block == nullptr) throw std::bad_alloc{};
  *block = 1;
  return block + 256;
}
void operator delete(void* p, std::align_val_t) noexcept {
  if (p == nullptr) return;
  ++aligned_deleted;
  char* block = static_cast<char*>(p) - 256;
  CHECK(*block == 1);
  *block = 0;
  free(block);
}

int main() {
  constexpr std::align_val_t a{256};
  constexpr std::size_t too_large = (1u << 20) + 1;
  for (int round = 0; round < 100; ++round) {
    delete new int;
    delete[] new int[10];
    delete new (std::nothrow) int;
    delete[] new (std::nothrow) int[10];
    ::operator delete(::operator new(10), std::nothrow);
    ::operator delete[](::operator new[](10), std::nothrow);
    ::operator delete(::operator new(10), std::size_t{10});
    ::operator delete[](::operator new[](10), std::size_t{10});
    CHECK(::operator new(too_large, std::nothrow) == nullptr);
    CHECK(::operator new[](too_large, std::nothrow) == nullptr);

    ::operator delete(::operator new(10, a), a);
    ::operator delete[](::operator new[](10, a), a);
    ::operator delete(::operator new(10, a, std::nothrow), a, std::nothrow);
    ::operator delete[](::operator new[](10, a, std::nothrow), a, std::nothrow);
    ::operator delete(::operator new(10, a), 10, a);
    ::operator delete[](::operator new[](10, a), 10, a);
  }
  CHECK(allocated == 800 && deleted == 800 && aligned == 600 && aligned_deleted == 600);
  std::vector<std::string> lines(100, std::string(100, 'x'));
  CHECK(allocated > 900);
}
