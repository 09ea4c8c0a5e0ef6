// The rows of fixed sizes through pools: bench-pools FORM …; bench-pools forms lists the forms that were compiled.
#include "command.hpp"
#include "front_pools.hpp"

namespace {

using namespace bench;

template <class... Fronts>
int main_of(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "forms") == 0) {
    (std::printf("{\"form\":\"%s\"}\n", Fronts::name), ...);
    return 0;
  }
  int result = 2;
  const bool found = ((count > 1 && std::strcmp(arguments[1], Fronts::name) == 0
                           ? (result = command<Fronts>(count - 2, arguments + 2), true)
                           : false) ||
                      ...);
  if (!found) std::fprintf(stderr, "usage: bench-pools forms | FORM rows|row …\n");
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  return main_of<list_front, plain_pool_front,
#if BENCH_BOOST_POOL
                 boost_pool_front,
#endif
                 pmr_front, mutex_pool_front, shared_pool_front, lock_free_front,
#if BENCH_BOOST_LOCKFREE
                 boost_free_front,
#endif
                 pmr_sync_front>(count, arguments);
}
