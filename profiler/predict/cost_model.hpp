// The cost model of memory on one machine: the prices of an allocation with its free, measured once and kept in a
// file with the facts of the machine (docs/reference/report-json.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profiler/findings/heap/share.hpp"
#include "profiler/format/counts.hpp"

namespace tarn::analyse {

// A range in nanoseconds, bytes or shares that is expected to contain the true value.
struct range {
  double low = 0, high = 0;

  range& operator+=(const range& summand) {
    low += summand.low;
    high += summand.high;
    return *this;
  }
  double middle() const { return (low + high) / 2; }
};
// Orders two measured ends, because on a busy machine the smaller one may have been measured as the larger one.
inline range ordered_range(double first, double second) { return {std::min(first, second), std::max(first, second)}; }
// Predictions are widened by this share to both sides: docs/design/predictions.md shows the errors for real programs.
constexpr double prediction_error = 0.25;
inline range operator*(const range& range, double factor) { return {range.low * factor, range.high * factor}; }

// The allocators under test.
enum class allocator_kind : std::size_t {
  single_threaded,  // the C library's malloc in a single-threaded process
  malloc,           // the same malloc beside other threads
  drop_in,          // tarn run
  pooled,           // tarn::pooled<T>, tarn::allocator<T>
  arena,            // tarn::arena, including its reset
  recycled,         // tarn::recycle<std::string>
  shared_pool,      // tarn::shared_pool<T>
  count,
};

// The lifetime patterns of the blocks of a site. The prices include no work of the program on a block except its
// first store.
enum class lifetime_pattern : std::size_t {
  soon,    // freed at once, with no other work in between
  busy,    // freed at once, after the program's data evicted the allocator's data from the nearest cache
  burst,   // 1 to 127 blocks, then their frees
  cold,    // thousands of blocks, freed in any order
  handed,  // freed by another thread on the same processor; the threads take turns
  met,     // freed by another thread on another processor
  count,
};

constexpr std::size_t allocator_count = static_cast<std::size_t>(allocator_kind::count);
constexpr std::size_t pattern_count = static_cast<std::size_t>(lifetime_pattern::count);
const char* name(allocator_kind allocator);
const char* name(lifetime_pattern pattern);

// Returns the size that represents a whole bucket: three quarters of its largest size.
constexpr std::size_t sample_bytes(std::size_t bucket) { return bucket == 0 ? 16 : std::size_t{12} << bucket; }

// Prices are valid while these facts are unchanged; the date only says when they were measured.
struct cost_facts {
  std::string machine;  // processor, number of processors, kernel
  std::string library;  // the C library
  std::string tarn;     // version and build
  std::string date;     // date of the measurement; not compared

  bool is_comparable(const cost_facts& other_facts) const {
    return machine == other_facts.machine && library == other_facts.library && tarn == other_facts.tarn;
  }
};

// The costs of system calls and of their replacements.
struct call_costs {
  // The factor by which a call takes longer under the recorder, because the recorder's work between two calls leaves
  // the kernel's data and branches less well cached. It is the median over some kinds of calls; 0: it could not be
  // measured.
  double slowdown = 0;
  double buffered_ns = 0;  // 64 bytes through tarn::io::reader or writer, without their own calls
  double cached_ns = 0;    // an answer from tarn::io::memo

  enum kind : std::size_t {
    trivial_call,  // getppid
    write_call,    // pwrite of 64 bytes in memory
    read_call,     // pread of 64 bytes in memory
    stat_call,
    kinds
  };
  std::array<double, kinds> plain_ns{};  // without the recorder
};

struct cost_model {
  static constexpr double unmeasured = -1;
  using by_size = std::array<double, format::size_bucket_count>;

  cost_facts facts;
  // Nanoseconds of an allocation with its free; `unmeasured` if an allocator does not have the pattern.
  std::array<std::array<by_size, pattern_count>, allocator_count> pairs;
  range copy_ns;  // a copied byte: from near memory, and from far memory
  call_costs calls;

  cost_model();
  // Returns the price of the pattern, or of the nearest pattern that the allocator has.
  double pair_ns(allocator_kind allocator, lifetime_pattern pattern, std::size_t bucket) const;
};

// These convert to JSON and back. `cost_model_from` throws nlohmann::json::exception if something is missing or has the
// wrong type.
nlohmann::json to_json(const cost_model& costs);
cost_model cost_model_from(const nlohmann::json& text);

}  // namespace tarn::analyse
