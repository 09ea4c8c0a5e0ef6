#include "profiler/collect/recorder_prices.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/base/cpu_time.hpp"
#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"
#include "profiler/collect/region_file.hpp"
#include "profiler/format/build_id.hpp"
#include "profiler/launch/machine_cache.hpp"
#include "profiler/predict/measure_recorder.hpp"

namespace tarn::command {
namespace {

using prices = recorder_prices::prices;
using nlohmann::json;

// The sampling interval of the measurement is so large that it takes no samples. Samples are timed in the recorded
// program itself.
constexpr std::uint64_t no_samples = std::uint64_t{1} << 40;

std::vector<std::string> environment_with(std::vector<std::string> added) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with("TARN_") && !variable.starts_with("LD_") && !variable.starts_with("_TARN_") &&
        !variable.starts_with("MALLOC_") && !variable.starts_with("GLIBC_TUNABLES="))
      added.emplace_back(variable);
  }
  return added;
}

// Returns the result of `tarn measure recorder` in a process with these variables.
std::optional<work_times> measure_prices(const std::vector<std::string>& variables) {
  constexpr std::chrono::seconds longest{30};
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  try {
    const helper_result result =
        run_helper({self, "measure", "recorder"}, {}, false, environment_with(variables), longest);
    if (error || result.code != 0) return std::nullopt;
    const json times = json::parse(result.output);
    return work_times{times.at("ns").get<prices>(), times.at("dispatches_of_thread"), times.at("changes_of_thread")};
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const failure&) {
    return std::nullopt;
  }
}

// Returns how often this process's children have lost their processor to other work.
long disturbances() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_nivcsw;
}

// Returns zeroes where nothing can be measured.
prices prices_of_one_round(const std::string& library, std::uint32_t sources, bool is_full) {
  const std::optional<work_times> plain = measure_prices({});
  if (!plain) return {};
  const region_file region(sources, is_full ? 0 : no_samples, format::min_region_bytes * 2);
  const std::optional<work_times> recorded =
      measure_prices({"LD_PRELOAD=" + library, std::string(format::region_variable) + "=" + region.path(),
                      std::string(format::process_variable) + "=0"});
  if (!recorded || region.images() == 0) return {};
  prices result{};
  const auto added_ns = [&](format::work_item item) { return std::max(recorded->ns[item] - plain->ns[item], 0.0); };
  for (const auto item : {format::dispatch_margin, format::heap_work, format::frame_work, format::lock_work,
                          format::recorded_lock_work, format::start_work})
    result[item] = added_ns(item);
  for (const auto item : {format::step_work, format::sample_margin, format::window_margin, format::walk_margin})
    result[item] = plain->ns[item];
  std::fill_n(result.begin(), std::size_t{format::timed_items}, 1.0);
  if (recorded->changes_of_thread > 0) {
    const double calls_ns = recorded->dispatches_of_thread * result[format::dispatch_margin];
    result[format::thread_margin] =
        std::max(added_ns(format::thread_margin) - calls_ns, 0.0) / recorded->changes_of_thread;
  }
  return result;
}

// Measures again, up to three times in all, while other work disturbs the measurement, and returns the median of each
// price: a disturbed plain run makes it too low, and a disturbed recorded run too high.
prices measured_prices(const std::string& library, std::uint32_t sources, bool is_full) try {
  constexpr std::size_t max_rounds = 3;
  std::vector<prices> rounds;
  for (long before = -1; rounds.size() < max_rounds && disturbances() != before;) {
    before = disturbances();
    rounds.push_back(prices_of_one_round(library, sources, is_full));
  }
  prices result{};
  for (std::size_t item = 0; item < result.size(); ++item) {
    std::vector<double> values;
    for (const prices& round : rounds) values.push_back(round[item]);
    std::sort(values.begin(), values.end());
    result[item] = values[(values.size() - 1) / 2];
  }
  return result;
} catch (const failure&) {
  return {};
}

// Names what the prices depend on beside the machine: the library, by its build.
json facts_of(const std::string& library) {
  const analyse::cost_facts today = facts_of_today();
  return {{"machine", today.machine},
          {"library", today.library},
          {"tarn", today.tarn},
          {"recorder", format::build_id_of(library)}};
}

std::string cache_file(std::uint32_t sources, bool is_full) {
  return fmt::format("recorder-{}{}.json", sources, is_full ? "-full" : "");
}

// Returns the prices of an earlier recording, unless they are too old, were measured elsewhere, or other work disturbed
// them and some time has passed since.
std::optional<prices> cached_prices(const std::string& file, const json& facts) {
  constexpr std::chrono::hours max_age{24};
  try {
    const json stored = read_cached(file);
    if (stored.is_null() || stored.at("facts") != facts) return std::nullopt;
    const std::chrono::seconds age = stored.at("is_disturbed").get<bool>() ? disturbed_costs_age : max_age;
    if (stored.at("date").get<std::string>() <= date_before_now(age)) return std::nullopt;
    return stored.at("ns").get<prices>();
  } catch (const json::exception&) {  // of another version: they are measured again
    return std::nullopt;
  }
}

}  // namespace

const prices& recorder_prices::get() {
  if (!measured_) {
    const std::string file = cache_file(sources_, is_full_);
    const json facts = facts_of(library_);
    measured_ = cached_prices(file, facts);
    if (measured_) return *measured_;
    const double before_seconds = cpu_seconds_of(RUSAGE_CHILDREN);
    const calibration_time time;
    measured_ = measured_prices(library_, sources_, is_full_);
    spent_seconds_ = cpu_seconds_of(RUSAGE_CHILDREN) - before_seconds;
    if (*measured_ == prices{}) return *measured_;  // nothing could be measured
    cache(file, {{"facts", facts},
                 {"date", date_before_now(std::chrono::seconds(0))},
                 {"is_disturbed", time.is_disturbed()},
                 {"ns", *measured_}});
  }
  return *measured_;
}

std::uint64_t recorder_prices::collector_us() const {
  return static_cast<std::uint64_t>((cpu_seconds_of(RUSAGE_SELF) + spent_seconds_) * 1e6);
}

}  // namespace tarn::command
