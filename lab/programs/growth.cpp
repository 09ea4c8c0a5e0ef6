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
    for (std::uint64_t at = 0; at < count; ++at) list_[at] = nullptr;  // makes the list resident before the blocks
  }
  blocks(const blocks&) = delete;
  blocks& operator=(const blocks&) = delete;
  ~blocks() {
    for (std::uint64_t at = 0; at < count_; ++at) front_.deallocate(list_[at], size_);
  }
  void fill() {
    for (std::uint64_t at = 0; at < count_; ++at) list_[at] = made(at);
  }
  std::uint64_t replace(std::uint64_t steps) {
    std::uint64_t sum = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::size_t at = bench::below(random_.next(), count_);
      sum += lab::marked(list_[at]);
      front_.deallocate(list_[at], size_);
      list_[at] = made(at);
    }
    return sum;
  }

 private:
  void* made(std::uint64_t value) {
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
outcome run(const settings& wanted) {
  const auto threads = static_cast<unsigned>(wanted["threads"]);
  const std::uint64_t size = wanted["size"], wanted_live = wanted["live"];
  const std::uint64_t live = std::max<std::uint64_t>(1, (wanted_live == 0 ? all_bytes / size : wanted_live) / threads);
  const std::uint64_t steps = wanted["steps"] / threads + 1;
  check_room(live * threads * size);
  outcome done{.units = lab::units_of_a_core(steps, threads)};
  std::vector<std::optional<blocks<Front>>> all(threads);
  std::atomic<std::uint64_t> sum{0};
  std::atomic<long> before{0}, after{0};
  std::optional<bench::idle_thread> idle;
  if (threads == 1) idle.emplace();
  std::atomic<unsigned> listed{0};
  lab::run_together(
      threads, done,
      [&](unsigned thread) {
        all[thread].emplace(live, size, thread);
        const auto meet = [&](unsigned of) {
          listed.fetch_add(1);
          while (listed.load() < of) sched_yield();
        };
        meet(threads);
        if (thread == 0) before = bench::resident_kib();
        meet(2 * threads);
        all[thread]->fill();
        all[thread]->replace(steps / 16 + 1);
      },
      [&](unsigned thread) { sum.fetch_add(all[thread]->replace(steps), std::memory_order_relaxed); });
  after = bench::resident_kib();
  done.checksum = sum.load();
  const double blocks_made = static_cast<double>(live) * threads;
  done.counts = {{"bytes a block", std::max(0.0, static_cast<double>(after - before) * 1024 / blocks_made)}};
  return done;
}

}  // namespace

int main(int count, char** words) {
  return lab::main_of(count, words, "growth",
                      {{.name = "threads", .usual = 1, .most = 256},
                       {.name = "live", .usual = 100'000, .least = 0, .most = 1'000'000'000},
                       {.name = "size", .usual = 64, .least = 16, .most = 1 << 24},
                       {.name = "steps", .usual = 1'000'000}},
                      {{"malloc", run<bench::malloc_front>}, {"allocator", run<bench::allocator_front>}});
}
