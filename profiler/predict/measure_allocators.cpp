#include "profiler/predict/measure_allocators.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <tarn/allocator.hpp>
#include <tarn/arena.hpp>
#include <tarn/recycle.hpp>
#include <tarn/shared_pool.hpp>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/format/region.hpp"
#include "profiler/predict/pairs.hpp"

namespace tarn::command {
namespace {

using analyse::allocator_kind;
using analyse::cost_model;
using analyse::lifetime_pattern;

constexpr std::size_t buckets = format::size_bucket_count;

struct c_blocks {
  void* (*allocate)(std::size_t);
  void (*release)(void*);
  std::size_t bytes;
  void* get() const { return allocate(bytes); }
  void put(void* block) const { release(block); }
  void lap() const {}
};

// Returns the C library's own functions, whatever malloc this command is linked or started with.
c_blocks library_blocks() {
  void* const library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  const auto find = [&](const char* symbol) {
    void* const address = library == nullptr ? nullptr : ::dlsym(library, symbol);
    if (address == nullptr) fail(exit_code::missing, "the C library has no function {}", symbol);
    return address;
  };
  return {reinterpret_cast<void* (*)(std::size_t)>(find("malloc")), reinterpret_cast<void (*)(void*)>(find("free")), 0};
}

template <std::size_t Bytes>
struct block {
  alignas(8) char bytes[Bytes];
};
template <std::size_t Bytes>
struct pooled_blocks {
  void* get() const { return allocator<block<Bytes>>().allocate(1); }
  void put(void* memory) const { allocator<block<Bytes>>().deallocate(static_cast<block<Bytes>*>(memory), 1); }
  void lap() const {}
};
template <std::size_t Bytes>
struct shared_blocks {
  shared_pool<block<Bytes>> pool;
  void* get() { return pool.allocate(); }
  void put(void* memory) { pool.deallocate(memory); }
  void lap() const {}
};
struct arena_blocks {
  arena blocks;
  std::size_t bytes;
  void* get() { return blocks.allocate(bytes); }
  void put(void*) const {}
  void lap() { blocks.reset(); }
};
// Taken and returned by get().
struct recycled_strings {
  char* get() const { return recycle<std::string>()->data(); }
  void put(void*) const {}
  void lap() const {}
};

double copied_ns(std::size_t bytes) {
  std::vector<char> source(bytes, 1), target(bytes);
  return min_ns([&](std::size_t batches) {
    for (std::size_t batch = 0; batch < batches; ++batch) {
      std::memcpy(target.data(), source.data(), bytes);
      asm volatile("" : : "r"(target.data()) : "memory");
    }
    return batches * bytes;
  });
}

void measure_recycled(cost_model& model) {
  recycled_strings strings;
  auto& patterns = model.pairs[static_cast<std::size_t>(allocator_kind::recycled)];
  const double soon = soon_ns(strings);
  patterns[static_cast<std::size_t>(lifetime_pattern::soon)].fill(soon);
  patterns[static_cast<std::size_t>(lifetime_pattern::busy)].fill(std::max(soon, busy_ns(strings)));
}

// Measures one allocator under test: its sizes one after the other, and in the end what they share.
class allocator_measurement {
 public:
  allocator_measurement(cost_model& model, allocator_kind kind, bool has_other_threads)
      : model_(model), kind_(kind), has_other_threads_(has_other_threads) {}
  allocator_measurement(const allocator_measurement&) = delete;
  allocator_measurement& operator=(const allocator_measurement&) = delete;
  ~allocator_measurement() {
    const double addition = median_addition(additions_);
    auto& patterns = model_.pairs[static_cast<std::size_t>(kind_)];
    for (double& ns : patterns[static_cast<std::size_t>(lifetime_pattern::busy)]) ns += addition;
  }
  template <class Server>
  void measure(std::size_t bucket, Server&& server) {
    measure_pairs(model_, kind_, bucket, server, has_other_threads_, additions_);
  }

 private:
  cost_model& model_;
  allocator_kind kind_;
  bool has_other_threads_;
  std::vector<double> additions_;
};

void measure_pools(cost_model& model) {
  constexpr std::size_t largest_shared = 64 * 1024;  // a pool of larger blocks makes no sense
  {
    allocator_measurement pooled(model, allocator_kind::pooled, true), shared(model, allocator_kind::shared_pool, true);
    [&]<std::size_t... Bucket>(std::index_sequence<Bucket...>) {
      (pooled.measure(Bucket, pooled_blocks<analyse::sample_bytes(Bucket)>()), ...);
      const auto measure_shared = [&]<std::size_t Shared>() {
        constexpr std::size_t bytes = analyse::sample_bytes(Shared);
        if constexpr (bytes <= largest_shared) shared.measure(Shared, shared_blocks<bytes>());
      };
      (measure_shared.template operator()<Bucket>(), ...);
    }(std::make_index_sequence<buckets>());
  }
  const auto& pooled_prices = model.pairs[static_cast<std::size_t>(allocator_kind::pooled)];
  auto& shared_prices = model.pairs[static_cast<std::size_t>(allocator_kind::shared_pool)];
  for (std::size_t pattern = 0; pattern < analyse::pattern_count; ++pattern) {
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      if (analyse::sample_bytes(bucket) > largest_shared)
        shared_prices[pattern][bucket] = pooled_prices[pattern][bucket];
    }
  }
}

void measure_c_library(cost_model& model, c_blocks library, allocator_kind kind, bool has_other_threads) {
  allocator_measurement measurement(model, kind, has_other_threads);
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    library.bytes = analyse::sample_bytes(bucket);
    measurement.measure(bucket, library);
  }
}

void measure_arena(cost_model& model) {
  allocator_measurement measurement(model, allocator_kind::arena, false);
  for (std::size_t bucket = 0; bucket < buckets; ++bucket)
    measurement.measure(bucket, arena_blocks{{}, analyse::sample_bytes(bucket)});
}

}  // namespace

cost_model measure_parts() {
  cost_model model;
  const c_blocks library = library_blocks();
  measure_c_library(model, library, allocator_kind::single_threaded, false);
  std::thread([] {}).join();  // from here on the C library takes the paths of a process with threads
  measure_c_library(model, library, allocator_kind::malloc, true);
  measure_pools(model);
  measure_arena(model);
  measure_recycled(model);
  model.copy_ns = analyse::ordered_range(copied_ns(std::size_t{4} << 10), copied_ns(std::size_t{4} << 20));
  return model;
}

cost_model measure_preloaded() {
  cost_model model;
  std::thread([] {}).join();
  measure_c_library(model, {::malloc, ::free, 0}, allocator_kind::drop_in, true);
  return model;
}

}  // namespace tarn::command
