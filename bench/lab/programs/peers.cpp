// lab-peers: rows of the bench (bench/README.md), by their number here, through heaps, pools and every malloc.
// `percent` scales the usual repetitions. Unit: the row's, for each thread.
//   heap=1 …  rows of sizes and of several threads, for mallocs and heaps
//   pool=1 …  rows of one size, for pools
#include <array>

#include "bench/front_malloc.hpp"
#include "bench/front_peers.hpp"
#include "bench/front_pools.hpp"
#include "bench/front_tarn.hpp"
#include "bench/measure.hpp"
#include "work.hpp"

namespace {

using lab::outcome;
using lab::settings;

struct one_row {
  bench::row bench_row;
  std::uint64_t repetitions;  // takes about 30 ms on glibc
};

// The order is that of the names in profiler/lab/peers.cpp.
template <class Front>
std::array<one_row, 7> heap_rows() {
  using namespace bench;
  return {{{{"pair-64", 1, 1, pair<Front, 64>}, 4'000'000},
           {{"burst-lifo-64", 1, 64, burst<Front, 64, order::lifo>}, 30'000},
           {{"list-1000", 1, 1000, list<Front, 1000>}, 1'500},
           {{"slots-random", 1, 1, slots<Front>}, 2'000'000},
           {{"server-2t", 2, 1, server_mix<Front>}, 600'000},
           {{"handoff-64", 2, 1, handoff<Front, 64>}, 400'000},
           {{"request-200", 1, 200, request<Front>}, 8'000}}};
}
template <class Front>
std::array<one_row, 6> pool_rows() {
  using namespace bench;
  return {{{{"pair-64", 1, 1, pair<Front, 64>}, 4'000'000},
           {{"pair-64-2t", 2, 1, pair<Front, 64>}, 400'000},
           {{"burst-lifo-64", 1, 64, burst<Front, 64, order::lifo>}, 30'000},
           {{"list-1000", 1, 1000, list<Front, 1000>}, 1'500},
           {{"scatter-10000", 1, 10'000, scatter<Front, 64, 10'000>}, 150},
           {{"slots-64", 1, 1, fixed_slots<Front, 64>}, 2'000'000}}};
}

outcome measured(const one_row& row, std::uint64_t percent) {
  const std::uint64_t repetitions = std::max<std::uint64_t>(1, row.repetitions * percent / 100);
  const bench::outcome measured_times = bench::measure(row.bench_row, repetitions);
  return {.units = repetitions * row.bench_row.units,
          .ns = measured_times.wall_ns,
          .processor_ns = measured_times.processor_ns,
          .checksum = measured_times.checksum};
}

template <class Front, bool HasHeapRows>
outcome run(const settings& parameters) {
  const std::uint64_t heap = parameters["heap"], pool = parameters["pool"];
  if constexpr (HasHeapRows) {
    if (heap != 0) return measured(heap_rows<Front>().at(heap - 1), parameters["percent"]);
  }
  if (pool == 0) lab::give_up("peers", "it has no such row");
  return measured(pool_rows<Front>().at(pool - 1), parameters["percent"]);
}

template <template <std::size_t> class Pool, bool Shared>
struct of_pool : bench::pool_front<Pool, Shared> {};

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "peers",
                      {{.name = "heap", .usual = 0, .minimum = 0, .maximum = 7},
                       {.name = "pool", .usual = 0, .minimum = 0, .maximum = 6},
                       {.name = "percent", .usual = 100, .maximum = 10'000}},
                      {
                        {"malloc", run<bench::malloc_front, true>}, {"allocator", run<bench::allocator_front, true>},
                            {"pooled", run<bench::pooled_front, false>},
                            {"class-pool", run<of_pool<bench::list_pool, false>, false>},
                            {"pool", run<of_pool<bench::plain_pool, false>, false>},
                            {"shared", run<of_pool<bench::wide_pool, true>, false>},
                            {"lock-free", run<of_pool<bench::free_pool, true>, false>},
#if BENCH_BOOST
                            {"boost-pool", run<of_pool<bench::boosts_pool, false>, false>},
                            {"boost-free", run<of_pool<bench::boosts_free_list, true>, false>},
#endif
#if BENCH_FOONATHAN
                            {"foonathan-pool", run<of_pool<bench::foonathans_pool, false>, false>},
#endif
#if BENCH_TBB
                            {"tbb-pool", run<of_pool<bench::tbbs_pool, true>, false>},
#endif
                            {"pmr-pool", run<of_pool<bench::unsynchronized_pool, false>, false>}, {
                          "pmr-sync", run<of_pool<bench::synchronized_pool, true>, false>
                        }
                      });
}
