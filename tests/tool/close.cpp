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
  for (int at = 0; at < 1000; ++at) blocks.push_back(by_malloc());
  for (int at = 0; at < 1000; ++at) numbers.push_back(by_new());
  for (int at = 0; at < 1000; ++at) arrays.push_back(by_new_of_arrays());
  std::vector<large*> larger;
  for (int at = 0; at < 1000; ++at) larger.push_back(by_large_new());
  for (void* each : blocks) std::free(each);
  for (const long* each : numbers) delete each;
  for (const long* each : arrays) delete[] each;
  for (const large* each : larger) delete each;
}
