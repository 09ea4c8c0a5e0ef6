// Compares two recordings of one program, before and after a change: site by site, the allocations that are gone beside
// those that a remedy was predicted to save.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/advise/analysis.hpp"

namespace tarn::analyse {

// The sums of all sites at one place of the source: one function, or one line of it if lines are known.
struct location_sums {
  std::string function, file;  // without arguments; the module if there is no function
  int line = 0;
  heap_category category = heap_category::kept;  // the category of most of its allocations
  std::string type;                              // of the object whose allocations cost most; empty if it is not known
  std::string caller;                            // of the function, for the same object; empty if it is not known
  std::array<std::uint64_t, category_count> allocations_by_category{};
  std::array<double, category_count> variance_by_category{};  // as `variance`
  std::uint64_t allocations = 0, bytes = 0, remote_frees = 0, copied = 0, live = 0;
  std::uint64_t peak_bytes = 0, end_bytes = 0;  // in use when the process had the most in use, and at the end
  double growth = 0;                            // bytes per second, of the sites that grow to the end of the run
  double variance = 0;  // variance of `allocations` if they are estimated from samples; 0 if they were counted
  range now_ns;
  std::optional<offer> first;  // the first remedy of the site that has most of the cost
  std::vector<offer> others;   // the remedies that could be taken instead
  std::string remedy;          // one line
  // Returns the relative error of `allocations`, not exceeded in 95 of 100 recordings; 0 if they were counted.
  double error() const;
};

// Compares the allocations that are gone with those that the remedy was predicted to save.
enum class count_outcome { not_taken, fewer_gone, as_predicted, more_gone };

struct change {
  std::optional<location_sums> before, after;  // at least one of them is set
  // The first remedy or another one seems to be taken: at least half of the allocations that it saves are gone, beyond
  // a decrease of the load. Always false for a site that is gone: nothing shows whether a remedy was taken or
  // the code was removed.
  bool is_taken = false;
  // If another one than the first is taken, because its remaining allocations fit better: its index in
  // `before->others`.
  std::optional<std::size_t> taken_instead = {};
  // Of the allocations at the other places that show the load, those that remain; 1 if there are more, or if no place
  // shows it.
  double remaining_share = 1;
  // Returns the remedy that is taken, or the first one if none is. Null if nothing was predicted.
  const offer* judged_offer() const;
  bool is_gone() const { return before && !after; }
  // Returns the saving by the model: the difference of the counts at the prices of both recordings. It is not measured.
  // So it agrees with a prediction of the same model wherever the counts do.
  range model_saved_ns() const;
  // Returns how many allocations judged_offer() saves.
  std::uint64_t predicted_allocations() const;
  // A tenth more or less, or five standard errors of samples, is as predicted.
  count_outcome outcome() const;
};

struct difference {
  // The largest change first; leaves out places without a change, and differences within the error of the samples.
  std::vector<change> changes;
  std::array<std::uint64_t, category_count> before{}, after{};  // allocations by category
  std::array<double, category_count> before_variance{}, after_variance{};
  range before_ns, after_ns;  // the heap's cost
  double common_share = 0;    // of the allocating functions of the recording that has fewer, those that the other has
};

// Places match if function, file and line are equal, or module and function if there is no line. The remaining places
// of one function are matched in the order of their lines, because an edit moves lines. Of the files the names must be
// equal, and the folders only where there are several. A function that is in another file later matches if the type of
// its objects is the same, and no third file has such a function. A function that has another name later matches if its
// file, its caller, the type and the counts are the same, and those of no third function are.
// `category` leaves out the sites of all other categories.
std::vector<location_sums> sums_by_location(const std::vector<site_view>& views,
                                            std::optional<heap_category> category = {});

// The sums of all sites, and those of the sites of each category. A place may have sites of several categories.
struct located_sums {
  std::vector<location_sums> locations;
  std::array<std::vector<location_sums>, category_count> by_category;
  const std::vector<location_sums>& locations_in(std::optional<heap_category> category) const {
    return category ? by_category[static_cast<std::size_t>(*category)] : locations;
  }
};
difference compare(const std::vector<location_sums>& before, const std::vector<location_sums>& after);

// Returns what the changes save by the model, as far as samples tell. There is no upper limit where a remedy was taken
// that also saves work which no recording shows.
range saved_by_changes(const std::vector<change>& changes);

// The CPU time that a change saved, of one run before it and one after it. Runs of the same work differ by 10 % on a
// machine that does other work, too, and by 50 % on a busy one. So the smaller allowance is only made where the changes
// of the program tell of the same saving.
struct measured_saving {
  range ns;
  bool is_explained = false;
};
measured_saving saving_of_runs(const range& before_ns, const range& after_ns, const range& saved_by_changes_ns);

// Returns the places whose bytes at the peak or at the end differ by more than 5 standard errors and 4 KiB, and at the
// peak by a hundredth of the whole, too; the largest difference first. `interval` is the mean distance of two samples
// in each recording; 0 if every block was counted.
std::vector<change> memory_changes(const std::vector<location_sums>& before, const std::vector<location_sums>& after,
                                   const std::array<double, 2>& interval);

}  // namespace tarn::analyse
