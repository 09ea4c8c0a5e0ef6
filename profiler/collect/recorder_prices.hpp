// Measures the prices of the recorder's work on this machine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "profiler/format/counts.hpp"

namespace tarn::command {

class recorder_prices {
 public:
  using prices = std::array<double, format::work_item_count>;

  // The prices are those of the recorder at `library` for a recording of `sources`.
  recorder_prices(std::string library, std::uint32_t sources, bool is_full)
      : library_(std::move(library)), sources_(sources), is_full_(is_full) {}
  // Finds them when first called: in the cache of the machine (launch/machine_cache.hpp) if an earlier recording of the
  // same sources has measured them within a day. Otherwise runs a small program twice, plain and recorded, for some
  // tens of milliseconds. Returns zeroes where that cannot be done.
  const prices& get();
  // Returns the CPU time that this process has taken, and those that measured the prices.
  std::uint64_t collector_us() const;

 private:
  std::string library_;
  std::uint32_t sources_;
  bool is_full_;
  std::optional<prices> measured_;
  double spent_seconds_ = 0;  // to measure them
};

}  // namespace tarn::command
