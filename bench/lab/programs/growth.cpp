// lab-growth: shows how time and memory grow with threads, with live blocks and with their size. Each of `threads`
// threads holds its share of `live` blocks of `size` bytes; together they replace `steps` of them at random. live=0:
// as many as fill 64 MiB. Unit: one block replaced, in time of one processor. Counted: resident bytes for each live
// block, without the list of them.
#include <memory>

#include "bench/front_malloc.hpp"
#include "bench/front_tarn.hpp"
#include "together.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::uint64_t all_bytes = 64 << 20;

/// Ends the program when half of the free memory cannot hold twice the blocks.
void check_room(std::uint64_t bytes) {
  const auto room =
      static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > room / 4)
    lab::give_up("growth", std::to_string(bytes >> 20) + " MiB of blocks are too many for the free memory");
}

/// The blocks of one thread; the first word of each is its number.
template <class Front>
class blocks {
 public:
  blocks(std::uint64_t count, std::uint64_t size, unsigned seed) : count_(count), size_(size), random_(seed + 1) {
    list_ = std::make_unique_for_overwrite<void*[]>(count);
    for (std::uint64_t index = 0; index < count; ++index)
      list_[index] = nullptr;  // makes the list resident before the blocks
  }
  blocks(const blocks&) = delete;
  blocks& operator=(const blocks&) = delete;
  ~blocks() {
    for (std::uint64_t index = 0; index < count_; ++index) front_.deallocate(list_[index], size_);
  }
  void fill() {
    for (std::uint64_t index = 0; index < count_; ++index) list_[index] = marked_block(index);
  }
  std::uint64_t replace(std::uint64_t steps) {
    std::uint64_t sum = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::size_t index = bench::draw_below(random_.next(), count_);
      sum += lab::marked(list_[index]);
      front_.deallocate(list_[index], size_);
      list_[index] = marked_block(index);
    }
    return sum;
  }

 private:
  void* marked_block(std::uint64_t value) {
    void* const block = front_.allocate(size_);
    if (block == nullptr) lab::give_up("growth", "out of memory");
    lab::mark(block, value);
    return block;
  }

  Front front_;
  std::uint64_t count_, size_;
  bench::random_numbers random_;
  std::unique_ptr<void*[]> list_;
};

template <class Front>
outcome run(const settings& parameters) {
  const auto threads = static_cast<unsigned>(parameters["threads"]);
  const std::uint64_t size = parameters["size"], max_live = parameters["live"];
  const std::uint64_t live = std::max<std::uint64_t>(1, (max_live == 0 ? all_bytes / size : max_live) / threads);
  const std::uint64_t steps = parameters["steps"] / threads + 1;
  check_room(live * threads * size);
  outcome result{.units = lab::units_of_a_core(steps, threads)};
  std::vector<std::optional<blocks<Front>>> lists(threads);
  std::atomic<std::uint64_t> sum{0};
  std::atomic<long> before{0}, after{0};
  std::optional<bench::idle_thread> idle;
  if (threads == 1) idle.emplace();
  std::atomic<unsigned> listed{0};
  lab::run_together(
      threads, result,
      [&](unsigned thread) {
        lists[thread].emplace(live, size, thread);
        const auto meet = [&](unsigned expected) {
          listed.fetch_add(1);
          while (listed.load() < expected) sched_yield();
        };
        meet(threads);
        if (thread == 0) before = bench::resident_kib();
        meet(2 * threads);
        lists[thread]->fill();
        lists[thread]->replace(steps / 16 + 1);
      },
      [&](unsigned thread) { sum.fetch_add(lists[thread]->replace(steps), std::memory_order_relaxed); });
  after = bench::resident_kib();
  result.checksum = sum.load();
  const double blocks_made = static_cast<double>(live) * threads;
  result.counts = {{"bytes a block", std::max(0.0, static_cast<double>(after - before) * 1024 / blocks_made)}};
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "growth",
                      {{.name = "threads", .usual = 1, .maximum = 256},
                       {.name = "live", .usual = 100'000, .minimum = 0, .maximum = 1'000'000'000},
                       {.name = "size", .usual = 64, .minimum = 16, .maximum = 1 << 24},
                       {.name = "steps", .usual = 1'000'000}},
                      {{"malloc", run<bench::malloc_front>}, {"allocator", run<bench::allocator_front>}});
}
