// Measures the prices of the recorder's work on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "profiler/predict/recorder_rounds.hpp"

namespace tarn::command {

struct measured_prices {
  analyse::recorder_rounds::prices ns{};
  bool is_disturbed = false;  // no two measurements agreed, because the machine was busy
};

class recorder_prices {
 public:
  // The prices are those of the recorder at `library` for a recording of `sources`.
  recorder_prices(std::string library, std::uint32_t sources, bool is_full)
      : library_(std::move(library)), sources_(sources), is_full_(is_full) {}
  // Finds them when first called: in the cache of the machine (launch/machine_cache.hpp) if an earlier recording of the
  // same sources has measured them within a day. Otherwise runs a small program, plain and recorded, until two rounds
  // agree, which takes some tens of milliseconds, or a second on a busy machine. Returns zeroes where that cannot be
  // done.
  const measured_prices& get();
  // Returns the CPU time that this process has taken, and those that measured the prices.
  std::uint64_t collector_us() const;

 private:
  std::string library_;
  std::uint32_t sources_;
  bool is_full_;
  std::optional<measured_prices> measured_;
  double spent_seconds_ = 0;  // to measure them
};

}  // namespace tarn::command
