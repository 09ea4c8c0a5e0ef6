// The numbers of heaps, pools and arenas as text for people, JSON for programs and OpenMetrics for scrapers.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <tarn/arena.hpp>
#include <tarn/fixed_pool.hpp>
#include <tarn/statistics.hpp>

namespace tarn {

enum class report_form : unsigned char {
  text,         ///< a paragraph each, with advice for a pool
  json,         ///< one array of objects
  openmetrics,  ///< one exposition (version 1.0), its last line included; a name is a label
};

/// Whose numbers, and the numbers.
template <class Statistics>
struct named {
  std::string_view name;
  Statistics numbers;
};

/// What the pool would have needed from the start: the options `first_chunk`, in which all fits that was ever in use,
/// and `limit`, a quarter more. Other options are as by default. All 0 if the pool was never used.
pool_options advice_for(const pool_statistics& of) noexcept;

/// report({{"nodes", nodes.statistics()}, {"edges", edges.statistics()}}, tarn::report_form::json)
///
/// Names may be anything: what is not plain is escaped. Any thread. Throws std::bad_alloc.
std::string report(std::span<const named<heap_statistics>> heaps, report_form form = report_form::text);
std::string report(std::span<const named<pool_statistics>> pools, report_form form = report_form::text);
std::string report(std::span<const named<arena_statistics>> arenas, report_form form = report_form::text);

inline std::string report(std::initializer_list<named<heap_statistics>> heaps, report_form form = report_form::text) {
  return report(std::span(heaps.begin(), heaps.size()), form);
}
inline std::string report(std::initializer_list<named<pool_statistics>> pools, report_form form = report_form::text) {
  return report(std::span(pools.begin(), pools.size()), form);
}
inline std::string report(std::initializer_list<named<arena_statistics>> arenas, report_form form = report_form::text) {
  return report(std::span(arenas.begin(), arenas.size()), form);
}

}  // namespace tarn
