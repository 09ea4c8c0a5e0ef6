// Pools of blocks of one size as columns: ours, and those of the standard library. front_peers.hpp has the others.
//   list         a hand-written linked list through the free blocks: the lower bound for a pool of one thread
//   pool         tarn::pool<T>                          pmr-pool     std::pmr::unsynchronized_pool_resource
//   pool-mutex   tarn::pool<T, std::mutex>              pmr-sync     std::pmr::synchronized_pool_resource
//   shared       tarn::shared_pool<T>                   heap-pmr     tarn::heap as a std::pmr::memory_resource
//   lock-free    tarn::lock_free_pool<T>                nothing      always the same block: the cost of the row itself
// Each thread has its own pool of the kinds for one thread; all threads share a pool of the other kinds.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <mutex>
#include <tarn/tarn.hpp>
#include <tuple>
#include <utility>

#include "work.hpp"

namespace bench {

template <std::size_t Size>
struct pool_block {
  alignas(8) std::byte bytes[Size];
};

/// A front with a pool for each size, per thread or shared. A free hides all memory from the optimiser, as the use of
/// a block does (mark); otherwise it would fold a free and the next allocation of an inline pool into nothing.
template <template <std::size_t> class Pool, bool Shared>
class pool_front {
 public:
  static constexpr bool is_pool = true;
  static constexpr bool lets_any_thread_free = Shared;

  template <std::size_t Size>
  [[gnu::always_inline]] void* make() {
    return pool_for<Size>().take();
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void unmake(void* p) {
    pool_for<Size>().give(p);
    keep(p);
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void* create() {
    return make<Size>();
  }
  template <std::size_t Size>
  [[gnu::always_inline]] void destroy(void* p) {
    unmake<Size>(p);
  }

 private:
  template <std::size_t Size>
  struct own_pool {
    Pool<Size> pool;
  };
  template <std::size_t Size>
  struct everybodys {
    static Pool<Size>& instance() {
      static Pool<Size> only;
      return only;
    }
    Pool<Size>& pool = instance();
  };
  template <std::size_t Size>
  using pool_holder = std::conditional_t<Shared, everybodys<Size>, own_pool<Size>>;

  template <std::size_t Size>
  [[gnu::always_inline]] auto& pool_for() {
    return std::get<pool_holder<Size>>(pools_).pool;
  }
  std::tuple<pool_holder<16>, pool_holder<64>, pool_holder<256>, pool_holder<1024>> pools_;
};

/// Adapts any of our pools: they share one interface.
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
  char* unused = nullptr;
  char* end = nullptr;
  std::size_t blocks = 32;
  void* chunks = nullptr;  // linked by their first word

  ~list_pool() {
    while (chunks != nullptr) std::free(std::exchange(chunks, *static_cast<void**>(chunks)));
  }
  [[gnu::noinline]] void* take_fresh() {
    if (unused == end) {
      char* const chunk = static_cast<char*>(std::malloc(16 + blocks * Size));
      if (chunk == nullptr) std::abort();
      *reinterpret_cast<void**>(chunk) = std::exchange(chunks, chunk);
      unused = chunk + 16;
      end = unused + blocks * Size;
      blocks *= 2;
    }
    return std::exchange(unused, unused + Size);
  }
  [[gnu::always_inline]] void* take() {
    link* const block = first;
    if (block == nullptr) [[unlikely]]
      return take_fresh();
    first = block->next;
    return block;
  }
  [[gnu::always_inline]] void give(void* p) { first = ::new (p) link{first}; }
};

/// Uses a memory resource as programs do: by a pointer to the base class, so the calls are virtual.
template <std::size_t Size, class Resource>
struct resource_pool {
  Resource blocks;
  std::pmr::memory_resource* resource = &blocks;
  resource_pool() { keep(resource); }
  [[gnu::always_inline]] void* take() { return resource->allocate(Size); }
  [[gnu::always_inline]] void give(void* p) { resource->deallocate(p, Size); }
};
template <std::size_t Size>
using unsynchronized_pool = resource_pool<Size, std::pmr::unsynchronized_pool_resource>;
template <std::size_t Size>
using synchronized_pool = resource_pool<Size, std::pmr::synchronized_pool_resource>;
template <std::size_t Size>
using heap_resource = resource_pool<Size, tarn::heap>;

struct nothing_front {
  static constexpr const char* name = "nothing";
  static constexpr const char* family = "nothing";
  static constexpr bool is_nothing = true;
  static constexpr bool is_pool = true;
  pool_block<64> only;
  template <std::size_t>
  [[gnu::always_inline]] void* make() {
    return &only;
  }
  template <std::size_t>
  [[gnu::always_inline]] void unmake(void*) {}
};

}  // namespace bench
