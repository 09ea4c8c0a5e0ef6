// What memory costs on one machine: prices of an allocation with its free, measured once, kept in a file with their
// facts (docs/report.md).
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "format/counts.hpp"

namespace tarn::analyse {

// Nanoseconds, bytes or shares, between which the truth is expected.
struct range {
  double low = 0, high = 0;

  range& operator+=(const range& more) {
    low += more.low;
    high += more.high;
    return *this;
  }
  double middle() const { return (low + high) / 2; }
};
// To both sides of what is predicted: docs/design/predictions.md has how far off programs were.
constexpr double prediction_error = 0.25;
inline range operator*(const range& of, double factor) { return {of.low * factor, of.high * factor}; }

// Who serves the blocks.
enum class server : std::size_t {
  alone,        // the C library's malloc in a process of one thread
  malloc,       // the same beside other threads
  drop_in,      // tarn run
  pooled,       // tarn::pooled<T>, tarn::allocator<T>
  arena,        // tarn::arena, its reset with it
  recycled,     // tarn::recycle<std::string>
  shared_pool,  // tarn::shared_pool<T>
  count,
};

// How the blocks of a site come and go. The program's own work on a block is in none of the prices but its first
// store.
enum class pattern : std::size_t {
  soon,    // freed at once, nothing else done in between
  busy,    // freed at once, by a program whose other data have pushed the allocator's out of the nearest cache
  burst,   // 1 to 127 blocks, then their frees
  cold,    // thousands of blocks, freed in any order
  handed,  // freed by another thread on the same processor, in turns
  met,     // freed by another thread on another processor
  count,
};

constexpr std::size_t server_count = static_cast<std::size_t>(server::count);
constexpr std::size_t pattern_count = static_cast<std::size_t>(pattern::count);
const char* name(server of);
const char* name(pattern of);

// The size that stands for all of a bucket: three quarters of its largest.
constexpr std::size_t sample_bytes(std::size_t bucket) { return bucket == 0 ? 16 : std::size_t{12} << bucket; }

// Prices hold where these are the same; the date says when they were measured.
struct cost_facts {
  std::string machine;  // processor and how many; kernel
  std::string library;  // the C library
  std::string tarn;     // version and build
  std::string date;     // not compared

  bool same(const cost_facts& other) const {
    return machine == other.machine && library == other.library && tarn == other.tarn;
  }
};

// System calls, and what takes their place.
struct call_costs {
  // How much longer a call takes under the recorder: what it does between two leaves the kernel's data and branches
  // less near. The middle of some kinds of calls; 0: could not be measured.
  double stretch = 0;
  double buffered_ns = 0;    // 64 bytes through tarn::io::reader or writer, their own calls left out
  double remembered_ns = 0;  // an answer from tarn::io::memo

  enum kind : std::size_t { ask, put, take, look, kinds };  // getppid; pwrite and pread of 64 bytes in memory; stat
  std::array<double, kinds> plain_ns{};                     // without the recorder
};

struct costs {
  static constexpr double none = -1;
  using by_size = std::array<double, format::size_bucket_count>;

  cost_facts facts;
  // ns of an allocation with its free; `none` where a server has no such pattern.
  std::array<std::array<by_size, pattern_count>, server_count> pairs;
  range copy_ns;  // a byte copied: near, and from far memory
  call_costs calls;
  double recorder_ns = 0;     // what `tarn record --heap --full` adds to an allocation with its free
  double recorder_frame = 0;  // and more for each frame
  double sampler_ns = 0;      // what `tarn record --heap` adds, samples and all

  costs();
  // The price, or that of the nearest pattern which the server has.
  double pair(server by, pattern in, std::size_t bucket) const;
};

// As JSON, and back. `from_json` throws nlohmann::json::exception where something is missing or of the wrong kind.
nlohmann::json to_json(const costs& all);
costs costs_from(const nlohmann::json& text);

}  // namespace tarn::analyse
