// lab-list: builds and deletes a linked list of `nodes` nodes of two words, repeatedly until `total` nodes were made,
// as the manual page Pool(3C++) of UnixWare 7 does. Unit: one node. The malloc form uses the preloaded malloc.
#include "bench/front_arenas.hpp"
#include "bench/front_malloc.hpp"
#include "bench/front_peers.hpp"
#include "bench/front_pools.hpp"
#include "bench/front_tarn.hpp"
#include "bench/idle_thread.hpp"
#include "work.hpp"

namespace {

using lab::outcome;
using lab::settings;

struct node {
  std::uint64_t value;
  node* next;
};

template <class From>
void give_all(From& allocator, node* head, std::uint64_t& sum) {
  while (head != nullptr) {
    node* const first = head;
    head = first->next;
    sum += first->value;
    if constexpr (requires { allocator.drop(std::span<void* const>()); }) {
      lab::keep(head);  // an arena ends with the list
    } else {
      allocator.template destroy<sizeof(node)>(first);
    }
  }
}

template <class From>
node* build(From& allocator, std::uint64_t nodes, std::uint64_t first) {
  node* head = nullptr;
  for (std::uint64_t index = 0; index < nodes; ++index) {
    void* block;
    if constexpr (requires { allocator.drop(std::span<void* const>()); }) {
      block = allocator.allocate(sizeof(node));
    } else {
      block = allocator.template create<sizeof(node)>();
    }
    auto* added = ::new (block) node{first + index, head};
    lab::keep(added);
    head = added;
  }
  return head;
}

template <class Front>
std::uint64_t lists(Front& front, std::uint64_t nodes, std::uint64_t times) {
  std::uint64_t sum = 0;
  for (std::uint64_t index = 0; index < times; ++index) {
    if constexpr (requires { front.make_arena(); }) {
      auto arena = front.make_arena();
      give_all(arena, build(arena, nodes, index), sum);
      arena.drop({});
    } else {
      give_all(front, build(front, nodes, index), sum);
    }
  }
  return sum;
}

/// A second thread sleeps meanwhile: some allocators take short cuts in a process of one thread, and no server is
/// one.
template <class Front>
outcome run(const settings& parameters) {
  const std::uint64_t nodes = parameters["nodes"], times = std::max<std::uint64_t>(1, parameters["total"] / nodes);
  const bench::idle_thread idle;
  Front front;
  lists(front, nodes, times / 16 + 1);
  outcome result{.units = nodes * times};
  lab::stopwatch watch;
  result.checksum = lists(front, nodes, times);
  watch.stop(result);
  return result;
}

template <template <std::size_t> class Pool, bool Shared = false>
struct of_pool : bench::pool_front<Pool, Shared> {};

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "list",
                      {{.name = "nodes", .usual = 1000, .maximum = 10'000'000},
                       {.name = "total", .usual = 1'000'000, .maximum = 1'000'000'000}},
                      {
                        {"malloc", run<bench::malloc_front>}, {"class-pool", run<of_pool<bench::list_pool>>},
                            {"pooled", run<bench::pooled_front>}, {"pool", run<of_pool<bench::plain_pool>>},
                            {"arena", run<bench::kept_arena_front>},
#if BENCH_BOOST
                            {"boost-pool", run<of_pool<bench::boosts_pool>>},
#endif
#if BENCH_FOONATHAN
                            {"foonathan-pool", run<of_pool<bench::foonathans_pool>>},
#endif
                            {"pmr-pool", run<of_pool<bench::unsynchronized_pool>>}, {
                          "monotonic", run<bench::fresh_monotonic_front>
                        }
                      });
}
