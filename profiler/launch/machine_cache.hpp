// Keeps what was measured on this machine for later commands, in files of $XDG_CACHE_HOME/tarn or ~/.cache/tarn.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profiler/base/cpu_time.hpp"
#include "profiler/predict/cost_model.hpp"

namespace tarn::command {

// Names this machine, its C library and this build of Tarn, with the present time as the date.
analyse::cost_facts facts_of_today();
// Returns the date that the facts of so long ago would have.
std::string date_before_now(std::chrono::seconds age);

// Returns the content of a file of the cache; null if it cannot be read, or if there is no home folder.
nlohmann::json read_cached(const std::string& file_name);
// Replaces a file of the cache. Does nothing where it cannot be written.
void cache(const std::string& file_name, const nlohmann::json& content);

// Tells whether the processes that it sees begin and end had the processor most of the time.
class calibration_time {
 public:
  // Returns true if other work took a third of the time or more.
  bool is_disturbed() const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double children_before_ = cpu_seconds_of(RUSAGE_CHILDREN);
};

// Costs that other work disturbed are measured again by a command that comes so much later.
constexpr std::chrono::seconds disturbed_costs_age{600};

}  // namespace tarn::command
