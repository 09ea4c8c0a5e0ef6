// Pools as columns: ours, the hand-written floor, and packaged peers where their headers are installed.
//   list         a linked list through the free blocks, written by hand: what a pool of one thread can be at best
//   pool         tarn::pool<T>                          boost-pool   boost::pool<>
//   pool-mutex   tarn::pool<T, std::mutex>              pmr-pool     std::pmr::unsynchronized_pool_resource
//   shared       tarn::shared_pool<T>                   pmr-sync     std::pmr::synchronized_pool_resource
//   lock-free    tarn::lock_free_pool<T>                boost-free   Boost.Lockfree's free list
// Those of one thread are one for each thread; the others are one for all.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <tarn/tarn.hpp>
#include <tuple>

#if __has_include(<boost/pool/pool.hpp>)
#include <boost/pool/pool.hpp>
#define BENCH_BOOST_POOL 1
#endif
#if __has_include(<boost/lockfree/detail/freelist.hpp>)
#include <boost/lockfree/detail/freelist.hpp>
#define BENCH_BOOST_LOCKFREE 1
#endif

namespace bench {

template <std::size_t Size>
struct pool_block {
  alignas(8) std::byte bytes[Size];
};

/// A front that has a pool for each size: its own, or one for all threads.
template <template <std::size_t> class Pool, bool Shared>
struct pool_front {
  static constexpr bool any_thread_frees = Shared;

  template <std::size_t Size>
  [[gnu::always_inline]] auto& of() {
    if constexpr (Shared) {
      static Pool<Size> everybodys;
      return everybodys;
    } else {
      return std::get<Pool<Size>>(own);
    }
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void* make() {
    return of<Size>().take();
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void unmake(void* p) {
    of<Size>().give(p);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void* create() {
    return make<Size>();
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void destroy(void* p) {
    unmake<Size>(p);
  }

  template <std::size_t... Sizes>
  using all = std::tuple<Pool<Sizes>...>;
  std::conditional_t<Shared, std::tuple<>, all<16, 64, 256, 1024, 4096, 16384, 61432>> own;
};

/// Any of ours: they are used in the same way.
template <class Pool>
struct our_pool {
  Pool blocks;
  [[gnu::always_inline]] void* take() { return blocks.allocate(); }
  [[gnu::always_inline]] void give(void* p) { blocks.deallocate(p); }
};
template <std::size_t Size>
using plain_pool = our_pool<tarn::pool<pool_block<Size>>>;
template <std::size_t Size>
using mutex_pool = our_pool<tarn::pool<pool_block<Size>, std::mutex>>;
template <std::size_t Size>
using wide_pool = our_pool<tarn::shared_pool<pool_block<Size>>>;
template <std::size_t Size>
using free_pool = our_pool<tarn::lock_free_pool<pool_block<Size>>>;

template <std::size_t Size>
struct list_pool {
  struct link {
    link* next;
  };
  link* first = nullptr;
  char* fresh = nullptr;
  char* end = nullptr;
  std::size_t blocks = 32;
  void* chunks = nullptr;  // linked by their first word

  ~list_pool() {
    while (chunks != nullptr) {
      std::free(std::exchange(chunks, *static_cast<void**>(chunks)));
    }
  }
  [[gnu::noinline]] void* take_fresh() {
    if (fresh == end) {
      char* const chunk = static_cast<char*>(std::malloc(16 + blocks * Size));
      if (chunk == nullptr) std::abort();
      *reinterpret_cast<void**>(chunk) = std::exchange(chunks, chunk);
      fresh = chunk + 16;
      end = fresh + blocks * Size;
      blocks *= 2;
    }
    return std::exchange(fresh, fresh + Size);
  }
  [[gnu::always_inline]] void* take() {
    link* const taken = first;
    if (taken == nullptr) [[unlikely]]
      return take_fresh();
    first = taken->next;
    return taken;
  }
  [[gnu::always_inline]] void give(void* p) { first = ::new (p) link{first}; }
};

template <std::size_t Size, class Resource>
struct resource_pool {
  Resource blocks;
  void* take() { return blocks.allocate(Size); }
  void give(void* p) { blocks.deallocate(p, Size); }
};
template <std::size_t Size>
using unsynchronized_pool = resource_pool<Size, std::pmr::unsynchronized_pool_resource>;
template <std::size_t Size>
using synchronized_pool = resource_pool<Size, std::pmr::synchronized_pool_resource>;

#if BENCH_BOOST_POOL
template <std::size_t Size>
struct boosts_pool {
  boost::pool<> blocks{Size};
  void* take() { return blocks.malloc(); }
  void give(void* p) { blocks.free(p); }
};
#endif
#if BENCH_BOOST_LOCKFREE
template <std::size_t Size>
struct boosts_free_list : boost::lockfree::detail::freelist_stack<pool_block<Size>> {
  using base = boost::lockfree::detail::freelist_stack<pool_block<Size>>;
  boosts_free_list() : base(std::allocator<pool_block<Size>>(), 0) {}
  void* take() { return base::template allocate<true, false>(); }
  void give(void* p) { base::template deallocate<true>(static_cast<pool_block<Size>*>(p)); }
};
#endif

#define BENCH_FRONT(TYPE, NAME, POOL, SHARED) \
  struct TYPE : pool_front<POOL, SHARED> {    \
    static constexpr const char* name = NAME; \
  }
BENCH_FRONT(list_front, "list", list_pool, false);
BENCH_FRONT(plain_pool_front, "pool", plain_pool, false);
BENCH_FRONT(mutex_pool_front, "pool-mutex", mutex_pool, true);
BENCH_FRONT(shared_pool_front, "shared", wide_pool, true);
BENCH_FRONT(lock_free_front, "lock-free", free_pool, true);
BENCH_FRONT(pmr_front, "pmr-pool", unsynchronized_pool, false);
BENCH_FRONT(pmr_sync_front, "pmr-sync", synchronized_pool, true);
#if BENCH_BOOST_POOL
BENCH_FRONT(boost_pool_front, "boost-pool", boosts_pool, false);
#endif
#if BENCH_BOOST_LOCKFREE
BENCH_FRONT(boost_free_front, "boost-free", boosts_free_list, true);
#endif
#undef BENCH_FRONT

}  // namespace bench
