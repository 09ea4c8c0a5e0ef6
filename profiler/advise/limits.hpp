// Limits on the content of a recording, for a gate in continuous integration.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/advise/difference.hpp"
#include "profiler/findings/time/sampled_shares.hpp"

namespace tarn::analyse {

// A limit has this form:
//
//   [CATEGORY] METRIC [at function NAME | at file NAME] [per request] <= NUMBER
//
//   same-thread allocations <= 1000
//   allocations at function parse <= 3 per request
//   copied bytes at file page.cpp <= 1M
//   heap share <= 5 %
//   lock waits <= 1 %              of the run's time: 100 % is one thread that always waits
//   system calls <= 20 per request
//   violations <= 0
//   never freed at function load <= 64 KiB
//   growth <= 10k: bytes per second, at the sites that grow to the end of the run
//   cpu time <= 2 ms per request
//   cpu share at function parse <= 20 %: of the CPU time, in it and in what it calls
struct limit {
  enum class metric_kind {
    allocations,
    bytes,
    copied,
    remote_frees,
    sites,
    peak,         // bytes in use when the process had the most
    live_at_end,  // bytes
    never_freed,  // the same, of a program that has ended
    growth,
    cpu_time,   // seconds
    cpu_share,  // of the CPU time, at one place
    share,
    lock_waits,
    system_calls,
    violations
  };

  std::string text;  // the expression as given, without the number
  metric_kind metric = metric_kind::allocations;
  std::optional<heap_category> category;
  std::string function, file;  // empty: any
  bool is_per_request = false;
  double maximum = 0;
};

// Thrown for an expression that is not a valid limit; its text gives the reason.
class wrong_limit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parses `text`, and throws wrong_limit if it is not a limit.
limit limit_of(std::string_view text, double maximum);
// Parses an expression that contains its number after "<=".
limit limit_of(std::string_view expression);

// Values of the whole program.
struct totals {
  double heap_share = 0;  // the heap's share of the CPU time: the middle of its range, which a report shows first
  double lock_waits = 0;  // the sum over all threads, as a share of the run time; above 1 if several waited at once
  double system_calls = 0;
  double violations = 0;          // violations in quiet regions
  double system_call_error = 0;   // relative; 0 if each call was counted
  figure_range cpu_seconds = {};  // of the program without the recorder
  std::uint64_t samples = 0;      // of the processor
  // Returns the share of the CPU time in the places which a limit names.
  std::function<share_estimate(const limit&)> share_at = {};
  // The mean distance of two samples of the heap in bytes, and what is known of all sites together; 0: all was counted.
  double interval = 0;
  double allocations = 0, bytes = 0;
  figure_range peak_range = {}, end_range = {};
};

struct limit_check {
  limit checked;
  double value = 0;
  figure_range range;                      // which an estimate leaves likely; else the value
  const location_sums* largest = nullptr;  // the largest of the places that add up to it; null for a share
  bool is_broken() const { return range.low > checked.maximum; }
  // Returns true if the limit lies within the range, so that the recording does not show whether it holds.
  bool is_open() const { return !is_broken() && range.high > checked.maximum; }
};

// Returns whether the limit applies to a function, given with its scopes and without arguments.
bool is_at(const limit& limit, std::string_view function);
// Returns the same for the path of a source file.
bool is_in(const limit& limit, std::string_view file);
// Returns whether the limit applies to a place of the source.
bool is_meant(const limit& limit, std::string_view function, std::string_view file);

// Returns whether the metric is a share of the program and not a number.
bool is_share(limit::metric_kind metric);

// Returns true if the metric is of the processor's time.
bool is_of_processor(limit::metric_kind metric);

// Returns true if the metric is memory in use, in bytes or bytes per second, and not a count of events.
bool is_of_memory(limit::metric_kind metric);

// Returns the value of each limit. `requests` is the number of requests that the program served; throws
// wrong_limit if it is 0 and a limit needs it.
std::vector<limit_check> check_limits(const std::vector<limit>& limits, const located_sums& located,
                                      const totals& whole, double requests);

}  // namespace tarn::analyse
