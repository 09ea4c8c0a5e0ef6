// Allocates 1,000 blocks of 8 bytes each by malloc, by operator new and by operator new[], and 1,000 of 100
// bytes by operator new, all in use at once.
#include <cstdlib>
#include <vector>

namespace {

struct large {
  char bytes[100];
};

[[gnu::noinline]] void* by_malloc() { return std::malloc(8); }
[[gnu::noinline]] long* by_new() { return new long(0); }
[[gnu::noinline]] large* by_large_new() { return new large; }
[[gnu::noinline]] long* by_new_of_arrays() { return new long[1]; }

}  // namespace

int main() {
  std::vector<void*> blocks;
  std::vector<long*> numbers, arrays;
  for (int index = 0; index < 1000; ++index) blocks.push_back(by_malloc());
  for (int index = 0; index < 1000; ++index) numbers.push_back(by_new());
  for (int index = 0; index < 1000; ++index) arrays.push_back(by_new_of_arrays());
  std::vector<large*> larger;
  for (int index = 0; index < 1000; ++index) larger.push_back(by_large_new());
  for (void* block : blocks) std::free(block);
  for (const long* number : numbers) delete number;
  for (const long* array : arrays) delete[] array;
  for (const large* object : larger) delete object;
}
