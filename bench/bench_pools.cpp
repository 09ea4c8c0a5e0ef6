// Runs the rows through pools and arenas: bench-pools FORM …; bench-pools forms lists the forms that were compiled.
#include "command.hpp"
#include "front_arenas.hpp"
#include "front_peers.hpp"
#include "front_pools.hpp"

namespace {

using namespace bench;

template <class... Fronts>
int main_of(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "forms") == 0) {
    (std::printf("{\"form\":\"%s\",\"family\":\"%s\"}\n", Fronts::name, Fronts::family), ...);
    return 0;
  }
  int result = 2;
  const bool is_found = ((count > 1 && std::strcmp(arguments[1], Fronts::name) == 0
                              ? (result = command<Fronts>(count - 2, arguments + 2), true)
                              : false) ||
                         ...);
  if (!is_found) std::fprintf(stderr, "usage: bench-pools forms | FORM rows|row …\n");
  return result;
}

#define BENCH_FRONT(TYPE, NAME, POOL, SHARED)                            \
  struct TYPE : pool_front<POOL, SHARED> {                               \
    static constexpr const char* name = NAME;                            \
    static constexpr const char* family = SHARED ? "shared" : "private"; \
  }
BENCH_FRONT(list_front, "list", list_pool, false);
BENCH_FRONT(plain_pool_front, "pool", plain_pool, false);
BENCH_FRONT(mutex_pool_front, "pool-mutex", mutex_pool, true);
BENCH_FRONT(shared_pool_front, "shared", wide_pool, true);
BENCH_FRONT(lock_free_front, "lock-free", free_pool, true);
BENCH_FRONT(heap_front, "heap-pmr", heap_resource, false);
BENCH_FRONT(pmr_front, "pmr-pool", unsynchronized_pool, false);
BENCH_FRONT(pmr_sync_front, "pmr-sync", synchronized_pool, true);
#if BENCH_BOOST
BENCH_FRONT(boost_pool_front, "boost-pool", boosts_pool, false);
BENCH_FRONT(boost_free_front, "boost-free", boosts_free_list, true);
#endif
#if BENCH_FOONATHAN
BENCH_FRONT(foonathan_front, "foonathan-pool", foonathans_pool, false);
#endif
#if BENCH_TBB
BENCH_FRONT(tbb_front, "tbb-pool", tbbs_pool, true);
BENCH_FRONT(tbb_fixed_front, "tbb-fixed", tbbs_fixed_pool, true);
#endif
#undef BENCH_FRONT

}  // namespace

int main(int count, char** arguments) {
  return main_of<list_front, plain_pool_front,
#if BENCH_BOOST
                 boost_pool_front,
#endif
#if BENCH_FOONATHAN
                 foonathan_front,
#endif
                 heap_front, pmr_front, mutex_pool_front, shared_pool_front, lock_free_front,
#if BENCH_BOOST
                 boost_free_front,
#endif
#if BENCH_TBB
                 tbb_front, tbb_fixed_front,
#endif
                 pmr_sync_front, bump_front, bounded_bump_front, arena_front, kept_arena_front, heap_arena_front,
                 monotonic_front, fresh_monotonic_front,
#if BENCH_FOONATHAN
                 foonathan_stack_front,
#endif
#if BENCH_TBB
                 tbb_arena_front,
#endif
                 nothing_front>(count, arguments);
}
