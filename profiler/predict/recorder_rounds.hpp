// Computes the prices of the recorder's work from rounds that measure it, each plain and recorded.
#pragma once

#include <array>
#include <vector>

#include "profiler/format/counts.hpp"

namespace tarn::analyse {

// Processor nanoseconds of one of each item, with the program's own part, and without the work that a recorder times
// itself.
struct work_times {
  std::array<double, format::work_item_count> ns{};
  // These count the recorded events of one thread; 0 in a process that is not recorded.
  double dispatches_of_thread = 0, changes_of_thread = 0;
};

class recorder_rounds {
 public:
  using prices = std::array<double, format::work_item_count>;

  void add(const work_times& plain, const work_times& recorded);
  std::size_t count() const { return plain_.size(); }
  // Returns true if two plain runs and two recorded ones were about as fast as the fastest. Other work on the machine
  // makes runs slower, and not all of them by the same.
  bool agree() const;
  // Returns the price of each item: the least time recorded, less the least time plain. `add` must have been called.
  prices min_prices() const;

 private:
  std::vector<work_times> plain_, recorded_;
};

}  // namespace tarn::analyse
