// Tests when a freed block is poisoned for AddressSanitizer. Clang links its runtime library into the program, whose
// calls cannot be replaced then.
#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>

#include <functional>
#include <thread>
#include <utility>

#include "central_fixture.hpp"
#include "platform/threads.hpp"

namespace {

/// Runs before memory is poisoned the next time.
std::function<void()> before_next_poison;

}  // namespace

// Stands before the sanitizer's own.
extern "C" void __asan_poison_memory_region(void const volatile* start, std::size_t bytes) {
  static const auto next =
      reinterpret_cast<decltype(&__asan_poison_memory_region)>(dlsym(RTLD_NEXT, "__asan_poison_memory_region"));
  if (const auto run = std::exchange(before_next_poison, nullptr)) run();
  next(start, bytes);
}

namespace heap_tests {
namespace {

class poison_test : public central_heap_test {};

// The owner is stopped in the middle of a free. A visitor empties its magazines meanwhile, and the block's memory is
// handed out again.
TEST_F(poison_test, a_block_that_can_be_taken_is_poisoned_already) {
  ASSERT_TRUE(platform::prepare_barriers());
  heap& tested = start();
  heap& taker = start();
  const size_class index = class_of(30'000);
  while (tested.classes[index].front == nullptr) {
    for (void* const block : allocate_many(tested, index, 4 * heaps::capacity_of(index)))
      tested.deallocate(block, index);
  }
  auto* const block = static_cast<char*>(allocate(tested, index));
  tested.visit_now();
  std::vector<char*> live;
  const std::size_t bytes = pages::shapes.classes[index].units * pages::unit_bytes;
  before_next_poison = [&] {
    std::thread([&] {
      tested.visit_now();
      do {
        live.push_back(static_cast<char*>(taker.allocate_large(bytes, 16, nullptr)));
      } while ((live.back() > block || live.back() + bytes <= block) && live.size() < 100);
    }).join();
  };
  tarn::detail::deallocate(&tested, block, index);
  ASSERT_FALSE(live.empty());
  for (char* const start : live) {
    EXPECT_EQ(__asan_region_is_poisoned(start, bytes), nullptr);
    taker.deallocate_large(pages::page_map::slab_of(start), true);
  }
}

}  // namespace
}  // namespace heap_tests
#endif
