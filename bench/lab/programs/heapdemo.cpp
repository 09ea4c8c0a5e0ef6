// lab-heapdemo: `threads` threads only allocate and free blocks of `size` bytes, `allocations` times each,
// after "Improving Performance with Thread-Private Heaps", C/C++ Users Journal 9/1999. Unit: one allocation and its
// free, in time of one processor.
//   malloc        the process's heap, whichever is preloaded
//   one-lock      the same behind one lock, as in that article
//   private-heap  a tarn::heap for each thread
//   private-pmr   a std::pmr::unsynchronized_pool_resource for each thread
//   private-tbb   a oneTBB memory pool for each thread
#include <memory_resource>
#include <mutex>
#include <tarn/heap.hpp>

#include "together.hpp"

#if BENCH_TBB
#define TBB_PREVIEW_MEMORY_POOL 1
#include <oneapi/tbb/memory_pool.h>
#endif

namespace {

using lab::outcome;
using lab::settings;

struct process_heap {
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void deallocate(void* block, std::size_t) { std::free(block); }
};

std::mutex heap_lock;

struct locked_heap {
  void* allocate(std::size_t bytes) {
    const std::lock_guard hold(heap_lock);
    return std::malloc(bytes);
  }
  void deallocate(void* block, std::size_t) {
    const std::lock_guard hold(heap_lock);
    std::free(block);
  }
};

#if BENCH_TBB
struct tbb_pool {
  tbb::memory_pool<std::allocator<std::byte>> pool;
  void* allocate(std::size_t bytes) { return pool.malloc(bytes); }
  void deallocate(void* block, std::size_t) { pool.free(block); }
};
#endif

template <class Heap>
outcome run(const settings& parameters) {
  const std::uint64_t threads = parameters["threads"], size = parameters["size"];
  outcome result{.units = lab::units_of_a_core(parameters["allocations"], threads)};
  std::vector<std::optional<Heap>> heaps(threads);
  lab::repeat_together(static_cast<unsigned>(threads), parameters["allocations"], result,
                       [&](unsigned thread, std::uint64_t repetitions) {
                         std::optional<Heap>& own_heap = heaps[thread];
                         if (!own_heap) own_heap.emplace();  // its thread makes it, in the warm-up
                         std::uint64_t sum = 0;
                         for (std::uint64_t round = 0; round < repetitions; ++round) {
                           void* const block = own_heap->allocate(size);
                           if (block == nullptr) lab::give_up("heapdemo", "out of memory");
                           lab::mark(block, round);
                           sum += lab::marked(block);
                           own_heap->deallocate(block, size);
                         }
                         return sum;
                       });
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "heapdemo",
                      {{.name = "threads", .usual = 4, .maximum = 256},
                       {.name = "allocations", .usual = 200'000},
                       {.name = "size", .usual = 1024, .minimum = 8, .maximum = 1 << 30}},
                      {
                        {"malloc", run<process_heap>}, {"one-lock", run<locked_heap>},
                            {"private-heap", run<tarn::heap>},
#if BENCH_TBB
                            {"private-tbb", run<tbb_pool>},
#endif
                        {
                          "private-pmr", run<std::pmr::unsynchronized_pool_resource>
                        }
                      });
}
