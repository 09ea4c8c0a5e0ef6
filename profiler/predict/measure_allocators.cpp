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

template <std::size_t Bucket>
void measure_sized(cost_model& model) {
  constexpr std::size_t bytes = analyse::sample_bytes(Bucket);
  measure_pairs(model, allocator_kind::pooled, Bucket, pooled_blocks<bytes>(), true);
  if constexpr (bytes <= 64 * 1024) {
    measure_pairs(model, allocator_kind::shared_pool, Bucket, shared_blocks<bytes>(), true);
  } else {  // a pool of such blocks makes no sense
    for (auto& times : model.pairs[static_cast<std::size_t>(allocator_kind::shared_pool)])
      times[Bucket] = cost_model::unmeasured;
    for (std::size_t lifetime = 0; lifetime < analyse::pattern_count; ++lifetime) {
      model.pairs[static_cast<std::size_t>(allocator_kind::shared_pool)][lifetime][Bucket] =
          model.pairs[static_cast<std::size_t>(allocator_kind::pooled)][lifetime][Bucket];
    }
  }
}

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
  patterns[static_cast<std::size_t>(lifetime_pattern::soon)].fill(soon_ns(strings));
  patterns[static_cast<std::size_t>(lifetime_pattern::busy)].fill(busy_ns(strings));
}

// The cost of running between other work is the same for all sizes, and noisy for each: this takes the median of all.
void even_out_busy(cost_model& model) {
  for (auto& patterns : model.pairs) {
    auto& soon = patterns[static_cast<std::size_t>(lifetime_pattern::soon)];
    auto& busy = patterns[static_cast<std::size_t>(lifetime_pattern::busy)];
    if (soon[0] < 0) continue;
    cost_model::by_size added{};
    for (std::size_t size = 0; size < buckets; ++size) added[size] = busy[size] - soon[size];
    std::nth_element(added.begin(), added.begin() + buckets / 2, added.end());
    for (std::size_t size = 0; size < buckets; ++size) busy[size] = soon[size] + std::max(added[buckets / 2], 0.0);
  }
}

}  // namespace

cost_model measure_parts() {
  cost_model model;
  c_blocks library = library_blocks();
  const auto measure_library = [&](allocator_kind kind, bool has_other_threads) {
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      library.bytes = analyse::sample_bytes(bucket);
      measure_pairs(model, kind, bucket, library, has_other_threads);
    }
  };
  measure_library(allocator_kind::single_threaded, false);
  std::thread([] {}).join();  // from here on the C library takes the paths of a process with threads
  measure_library(allocator_kind::malloc, true);
  [&]<std::size_t... Bucket>(std::index_sequence<Bucket...>) {
    (measure_sized<Bucket>(model), ...);
  }(std::make_index_sequence<buckets>());
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    measure_pairs(model, allocator_kind::arena, bucket, arena_blocks{{}, analyse::sample_bytes(bucket)}, false);
  }
  measure_recycled(model);
  even_out_busy(model);
  model.copy_ns = analyse::ordered_range(copied_ns(std::size_t{4} << 10), copied_ns(std::size_t{4} << 20));
  return model;
}

cost_model measure_preloaded() {
  cost_model model;
  std::thread([] {}).join();
  c_blocks preloaded{::malloc, ::free, 0};
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    preloaded.bytes = analyse::sample_bytes(bucket);
    measure_pairs(model, allocator_kind::drop_in, bucket, preloaded, true);
  }
  even_out_busy(model);
  return model;
}

}  // namespace tarn::command
