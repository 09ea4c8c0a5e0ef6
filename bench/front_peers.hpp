// Packaged peers of the pools, each used as its documentation shows; macros of CMakeLists.txt say which are
// installed.
//   boost-pool      boost::pool<>                        boost-free   Boost.Lockfree's free list
//   foonathan-pool  foonathan::memory::memory_pool<>
//   tbb-pool        tbb::memory_pool, shared by all threads: it caches for each thread
//   tbb-fixed       tbb::fixed_pool, the same over a buffer that does not grow
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

#if BENCH_BOOST
#include <boost/lockfree/detail/freelist.hpp>
#include <boost/pool/pool.hpp>
#endif
#if BENCH_FOONATHAN
#include <foonathan/memory/memory_pool.hpp>
#endif
#if BENCH_TBB
#define TBB_PREVIEW_MEMORY_POOL 1
#include <oneapi/tbb/memory_pool.h>
#endif

namespace bench {

#if BENCH_BOOST
template <std::size_t Size>
struct boosts_pool {
  boost::pool<> blocks{Size};
  void* take() { return blocks.malloc(); }
  void give(void* p) { blocks.free(p); }
};

template <std::size_t Size>
struct boosts_block {
  alignas(8) std::byte bytes[Size];
};
template <std::size_t Size>
struct boosts_free_list : boost::lockfree::detail::freelist_stack<boosts_block<Size>> {
  using base = boost::lockfree::detail::freelist_stack<boosts_block<Size>>;
  boosts_free_list() : base(std::allocator<boosts_block<Size>>(), 0) {}
  void* take() { return base::template allocate<true, false>(); }
  void give(void* p) { base::template deallocate<true>(static_cast<boosts_block<Size>*>(p)); }
};
#endif

#if BENCH_FOONATHAN
template <std::size_t Size>
struct foonathans_pool {
  using pool = foonathan::memory::memory_pool<>;
  pool blocks{Size, pool::min_block_size(Size, 32)};
  void* take() { return blocks.allocate_node(); }
  void give(void* p) { blocks.deallocate_node(p); }
};
#endif

#if BENCH_TBB
template <std::size_t Size>
struct tbbs_pool {
  tbb::memory_pool<std::allocator<std::byte>> blocks;
  void* take() { return blocks.malloc(Size); }
  void give(void* p) { blocks.free(p); }
};
template <std::size_t Size>
struct tbbs_fixed_pool {
  static constexpr std::size_t bytes = 64 << 20;
  void* const buffer = std::malloc(bytes);
  tbb::fixed_pool blocks{buffer, bytes};
  void* take() { return blocks.malloc(Size); }
  void give(void* p) { blocks.free(p); }
};
#endif

}  // namespace bench
