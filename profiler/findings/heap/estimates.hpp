// Reconciles samples of the heap with the totals that are known exactly, and computes the errors of the samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "profiler/findings/heap/findings.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// Holds the true figure in 95 of 100 recordings; both ends are equal if it is known exactly.
struct figure_range {
  double low = 0, high = 0;
  bool is_exact() const { return low == high; }
};

// Sums the counts of all threads. The sum is exact with and without sampling.
struct exact_total {
  std::uint64_t allocations = 0, frees = 0, bytes = 0;
};
struct exact_totals : exact_total {
  exact_total last;             // of the program that ran last, whose blocks alone can be in use at the end
  std::uint64_t max_bytes = 0;  // the most that one of the programs has allocated
  // The recording has the program from its start on, so that all of these frees are of its blocks.
  bool is_whole = false;

  bool has_freed_none() const { return is_whole && frees == 0; }
  bool last_has_freed_none() const { return is_whole && last.frees == 0; }
  bool last_has_freed_all() const { return is_whole && last.frees == last.allocations; }
  // Returns the blocks that can be in use at the end, at most.
  std::uint64_t max_live() const {
    return is_whole ? last.allocations - std::min(last.allocations, last.frees) : last.allocations;
  }
};
exact_totals totals_of(const format::recording& recording);

// Returns the range of a sum of samples of a Poisson process whose samples stand for `unit` each, or for less: the
// exact bounds of a Poisson mean, in Byar's approximation. A sum of 0 has an upper end, of three units. `deviations`
// is how many standard errors the ends are away.
figure_range range_of_samples(double unit, double sum, double deviations = 1.96);

// Returns the range of the bytes in use when the samples in use, `interval` bytes from each other on average, stood for
// most bytes, `sum`. That was the highest of as many moments as there are samples, and one at which a sample was taken:
// so the low end allows for that sample, and for the luckiest of all these moments.
figure_range range_of_peak(double interval, double sum, const exact_totals& totals);

// Lowers the estimates until no site, and no sum of sites, is above the limits that follow from the exact totals. Adds
// to the most uncertain site the allocations that the rounding of so many cells has removed.
void reconcile(std::vector<site>& sites, const exact_totals& totals, std::size_t rounded_cells);

}  // namespace tarn::analyse
