// Allocates large blocks: a library that is loaded while its program is recorded (attached.cpp).
#include <cstdlib>

extern "C" void allocate_in_plugin(int count) {
  for (int number = 0; number < count; ++number) {
    void* volatile const start = std::malloc(64 * 1024);
    std::free(start);
  }
}
