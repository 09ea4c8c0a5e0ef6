// The remedies for sites of the heap, one row each: their names in the JSON of a report, and how they are predicted.
#pragma once

#include <array>
#include <cstddef>

#include "profiler/predict/cost_model.hpp"
#include "profiler/predict/trace.hpp"

namespace tarn::analyse {

// Serves the chosen blocks when excerpts are replayed. The C library serves all other blocks.
enum class replay_method : std::size_t {
  as_is,     // the C library, as in the program
  as_copy,   // a copied std::string instead of each block
  omitted,   // no block at all: what remains is the cost of everything else
  viewed,    // a view of the text that `as_copy` copies
  recycled,  // tarn::recycle<std::string>
  pooled,    // the thread's own heap
  arena,
  reserved,  // the C library, asked once for the size that a buffer grows to
  count
};

// The order of `remedies`.
enum class remedy_kind : std::size_t {
  hoist,        // allocate once, outside the loop
  reserve,      // allocate the final size at once
  recycle,      // tarn::recycle<T>()
  pooled,       // tarn::pooled<T>, tarn::allocator<T>
  arena,        // tarn::arena
  shared_pool,  // tarn::shared_pool<T>
  drop_in,      // tarn run
};

struct remedy_facts {
  remedy_kind kind;
  const char* name;
  allocator_kind allocator;   // serves the blocks; `count` if the allocations do not happen
  call_ns replayed::*saving;  // the saving that a replay measures; null if remedies of this kind are not replayed
  replay_method method = replay_method::as_is;  // how it is replayed; `as_is` if a process with another malloc does it
  bool is_inlined = false;                      // its calls are a few instructions in the caller's code
};
inline constexpr std::array remedies = {
    remedy_facts{remedy_kind::hoist, "hoist", allocator_kind::count, &replayed::hoist, replay_method::omitted},
    remedy_facts{remedy_kind::reserve, "reserve", allocator_kind::count, &replayed::reserve, replay_method::reserved},
    remedy_facts{remedy_kind::recycle, "recycle", allocator_kind::recycled, &replayed::recycle,
                 replay_method::recycled},
    remedy_facts{remedy_kind::pooled, "pooled", allocator_kind::pooled, &replayed::pooled, replay_method::pooled, true},
    remedy_facts{remedy_kind::arena, "arena", allocator_kind::arena, &replayed::arena, replay_method::arena, true},
    remedy_facts{remedy_kind::shared_pool, "shared_pool", allocator_kind::shared_pool, nullptr},
    remedy_facts{remedy_kind::drop_in, "drop_in", allocator_kind::drop_in, &replayed::drop_in},
};
consteval bool has_row_for_each_remedy() {
  for (std::size_t row = 0; row < remedies.size(); ++row) {
    if (static_cast<std::size_t>(remedies[row].kind) != row) return false;
  }
  return remedies.back().kind == remedy_kind::drop_in;
}
static_assert(has_row_for_each_remedy(), "the rows have the order of remedy_kind");
constexpr const remedy_facts& facts_of(remedy_kind remedy) { return remedies[static_cast<std::size_t>(remedy)]; }
constexpr const char* name(remedy_kind remedy) { return facts_of(remedy).name; }

}  // namespace tarn::analyse
