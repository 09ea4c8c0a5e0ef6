// Limits on what a recording may say, for a gate in continuous integration.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/difference.hpp"

namespace tarn::analyse {

// [CATEGORY] METRIC [at function NAME | at file NAME] [per request] <= NUMBER
//
//   transient allocations <= 1000
//   allocations at function parse <= 3 per request
//   copied bytes at file page.cpp <= 1M
//   heap share <= 5 %
//   lock waits <= 1 %
//   system calls <= 20 per request
//   noises <= 0
struct limit {
  enum class metric { allocations, bytes, copied, handed_over, sites, share, lock_waits, system_calls, noises };

  std::string words;  // as given, without the number
  metric what = metric::allocations;
  std::optional<category> of;
  std::string function, file;  // empty: any
  bool per_request = false;
  double most = 0;
};

// What the words mean that cannot be a limit, for a person.
class wrong_limit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws wrong_limit.
limit limit_of(std::string_view words, double most);
// The same with its number behind "<=".
limit limit_of(std::string_view expression);

// What is of the whole program.
struct totals {
  double heap_share = 0;  // of its processor time, that the heap takes: the low end of its range, so that only what is
                          // sure is a breach
  double lock_waits = 0;  // together, of its time; above 1 where several threads waited at once
  double system_calls = 0;
  double noises = 0;  // in regions that were to be quiet
};

struct breach {
  limit of;
  double value = 0;
  const place_sums* largest = nullptr;  // of the places that add up to it; null for a share
};

// Whether it is a share of the program, and not a number.
bool is_share(limit::metric of);

// What is above its limit. `requests`: how many the program served; throws wrong_limit where a limit needs it and it is
// 0.
std::vector<breach> breaches_of(const std::vector<limit>& limits, const std::vector<place_sums>& places,
                                const totals& whole, double requests);

}  // namespace tarn::analyse
