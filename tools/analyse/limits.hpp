// Limits on the content of a recording, for a gate in continuous integration.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/difference.hpp"

namespace tarn::analyse {

// A limit has this form:
//
//   [CATEGORY] METRIC [at function NAME | at file NAME] [per request] <= NUMBER
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

  std::string words;  // the expression as given, without the number
  metric what = metric::allocations;
  std::optional<category> of;
  std::string function, file;  // empty: any
  bool per_request = false;
  double most = 0;
};

// Tells a person why an expression is not a valid limit.
class wrong_limit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parses `words` and throws wrong_limit if they are not a limit.
limit limit_of(std::string_view words, double most);
// Parses an expression that contains its number after "<=".
limit limit_of(std::string_view expression);

// Values of the whole program.
struct totals {
  double heap_share = 0;  // the heap's share of the processor time: the low end of its range, so that
                          // only a certain excess is a breach
  double lock_waits = 0;  // the sum over all threads, as a share of the run time; above 1 if several waited at once
  double system_calls = 0;
  double noises = 0;  // violations in quiet regions
};

struct breach {
  limit of;
  double value = 0;
  const place_sums* largest = nullptr;  // the largest of the places that add up to it; null for a share
};

// Returns whether the limit applies to a function, given with its scopes and without arguments.
bool is_at(const limit& by, std::string_view function);

// Returns whether the metric is a share of the program and not a number.
bool is_share(limit::metric of);

// Returns the limits that are exceeded. `requests` is the number of requests that the program served; throws
// wrong_limit if it is 0 and a limit needs it.
std::vector<breach> breaches_of(const std::vector<limit>& limits, const std::vector<place_sums>& places,
                                const totals& whole, double requests);

}  // namespace tarn::analyse
