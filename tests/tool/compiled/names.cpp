// Functions whose names say too much or too little: two that seem to allocate for their callers, of which one does, and
// a region of OpenMP, which is a function without a name of its own.
#include <cstdlib>

namespace {

void* hidden(void* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

}  // namespace

[[gnu::noinline]] void process_allocation(int count) {
  for (int round = 0; round < count; ++round) std::free(hidden(std::malloc(48)));
}

[[gnu::noinline]] void* alloc_text() { return hidden(std::malloc(50)); }

[[gnu::noinline]] void region(int count) {
#pragma omp parallel for num_threads(2)
  for (int round = 0; round < count; ++round) std::free(hidden(std::malloc(90)));
}

int main() {
  process_allocation(1000);
  for (int round = 0; round < 2000; ++round) std::free(alloc_text());
  region(3000);
}
