// A library with libtarn.a inside; it is built twice. Nothing is inlined, so that each inline function of the headers
// is a symbol that both copies have.
#include <string>
#include <vector>

#include <tarn/allocator.hpp>
#include <tarn/heap.hpp>
#include <tarn/pool.hpp>
#include <tarn/pooled.hpp>

#define JOIN(name, copy) name##copy
#define NAME(name, copy) JOIN(name, copy)

namespace {

struct part {
  long numbers[4];
};

}  // namespace

extern "C" {

void* NAME(allocate_in_, COPY)() { return tarn::current_heap().allocate(100); }
void NAME(free_in_, COPY)(void* block) { tarn::current_heap().deallocate(block, 100); }
const void* NAME(global_of_, COPY)() { return &tarn::process_heap(); }
const void* NAME(current_of_, COPY)() { return &tarn::current_heap(); }
bool NAME(owns_, COPY)(const void* block) { return tarn::owner_of(block) != nullptr; }

void NAME(work_in_, COPY)() {
  tarn::heap lane({.name = "own"});
  lane.deallocate(lane.allocate(50), 50);
  for (int round = 0; round < 1000; ++round) {
    std::vector<int, tarn::allocator<int>> numbers(static_cast<std::size_t>(round % 100));
    std::basic_string<char, std::char_traits<char>, tarn::allocator<char>> text(static_cast<std::size_t>(round), 'x');
    numbers.push_back(static_cast<int>(text.size()));
    tarn::pool<part> parts({.name = "parts"});
    part* const item = parts.create();
    parts.destroy(item);
  }
}
}
