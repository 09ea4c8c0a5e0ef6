// Formats the numbers of heaps, pools and arenas as text for people, JSON for programs and OpenMetrics for scrapers.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <tarn/arena.hpp>
#include <tarn/fixed_pool.hpp>
#include <tarn/statistics.hpp>

namespace tarn {

/// Forms of the output.
enum class statistics_form : unsigned char {
  text,         ///< a paragraph for each, with advice for a pool
  json,         ///< one array of objects
  openmetrics,  ///< one complete exposition (version 1.0), with its last line; a name is a label
};

/// A name and its statistics.
template <class Statistics>
struct named_statistics {
  /// Name of the heap, pool or arena in the output.
  std::string_view name;
  /// Its statistics.
  Statistics numbers;
};

/// Returns the options that would have suited the pool from the start: `first_chunk_blocks` holds all blocks that were
/// ever in use at one time, and up to 255 more, because the peak is counted by magazines; `limit_blocks` is a quarter
/// more. Other options have their defaults. All are 0 if the pool was never used. Any thread may call it: it only
/// computes.
pool_options advice_for(const pool_statistics& statistics) noexcept;

/// format_statistics({{"nodes", nodes.statistics()}, {"edges", edges.statistics()}}, tarn::statistics_form::json)
///
/// Formats statistics, in the order given, and returns the text. Names may contain any text, which is escaped where
/// needed. Any thread may call it. Throws std::bad_alloc. Cost: one string that grows; no lock and no system call.
std::string format_statistics(std::span<const named_statistics<heap_statistics>> heaps,
                              statistics_form form = statistics_form::text);
std::string format_statistics(std::span<const named_statistics<pool_statistics>> pools,
                              statistics_form form = statistics_form::text);
std::string format_statistics(std::span<const named_statistics<arena_statistics>> arenas,
                              statistics_form form = statistics_form::text);

/// Formats a list in braces in the same way. Any thread may call it. Throws std::bad_alloc.
inline std::string format_statistics(std::initializer_list<named_statistics<heap_statistics>> heaps,
                                     statistics_form form = statistics_form::text) {
  return format_statistics(std::span(heaps.begin(), heaps.size()), form);
}
inline std::string format_statistics(std::initializer_list<named_statistics<pool_statistics>> pools,
                                     statistics_form form = statistics_form::text) {
  return format_statistics(std::span(pools.begin(), pools.size()), form);
}
inline std::string format_statistics(std::initializer_list<named_statistics<arena_statistics>> arenas,
                                     statistics_form form = statistics_form::text) {
  return format_statistics(std::span(arenas.begin(), arenas.size()), form);
}

}  // namespace tarn
