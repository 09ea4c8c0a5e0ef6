#include "profiler/collect/recorder_prices.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

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

using analyse::recorder_rounds;
using analyse::work_times;
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
std::optional<work_times> run_measurement(const std::vector<std::string>& variables) {
  constexpr std::chrono::seconds longest{30};
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  try {
    const helper_result result =
        run_helper({self, "measure", "recorder"}, {}, false, environment_with(variables), longest);
    if (error || result.code != 0) return std::nullopt;
    const json times = json::parse(result.output);
    return work_times{times.at("ns").get<recorder_rounds::prices>(), times.at("dispatches_of_thread"),
                      times.at("changes_of_thread")};
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const failure&) {
    return std::nullopt;
  }
}

// Returns false where nothing can be measured.
bool add_round(recorder_rounds& rounds, const std::string& library, std::uint32_t sources, bool is_full) try {
  const std::optional<work_times> plain = run_measurement({});
  if (!plain) return false;
  const region_file region(sources, is_full ? 0 : no_samples, format::min_region_bytes * 2);
  const std::optional<work_times> recorded =
      run_measurement({"LD_PRELOAD=" + library, std::string(format::region_variable) + "=" + region.path(),
                       std::string(format::process_variable) + "=0"});
  if (!recorded || region.images() == 0) return false;
  rounds.add(*plain, *recorded);
  return true;
} catch (const failure&) {
  return false;
}

// Measures until two rounds agree, for about a second at most. Returns zeroes where nothing can be measured.
measured_prices measure_prices(const std::string& library, std::uint32_t sources, bool is_full) {
  constexpr std::size_t max_rounds = 8;
  constexpr std::chrono::seconds longest{1};
  const auto begun = std::chrono::steady_clock::now();
  recorder_rounds rounds;
  while (add_round(rounds, library, sources, is_full) && !rounds.agree() && rounds.count() < max_rounds &&
         std::chrono::steady_clock::now() - begun < longest) {
  }
  if (rounds.count() == 0) return {};
  return {rounds.min_prices(), !rounds.agree()};
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
std::optional<measured_prices> cached_prices(const std::string& file, const json& facts) {
  constexpr std::chrono::hours max_age{24};
  try {
    const json stored = read_cached(file);
    if (stored.is_null() || stored.at("facts") != facts) return std::nullopt;
    const bool is_disturbed = stored.at("is_disturbed").get<bool>();
    const std::chrono::seconds age = is_disturbed ? disturbed_costs_age : max_age;
    if (stored.at("date").get<std::string>() <= date_before_now(age)) return std::nullopt;
    return measured_prices{stored.at("ns").get<recorder_rounds::prices>(), is_disturbed};
  } catch (const json::exception&) {  // of another version: they are measured again
    return std::nullopt;
  }
}

}  // namespace

const measured_prices& recorder_prices::get() {
  if (!measured_) {
    const std::string file = cache_file(sources_, is_full_);
    const json facts = facts_of(library_);
    measured_ = cached_prices(file, facts);
    if (measured_) return *measured_;
    const double before_seconds = cpu_seconds_of(RUSAGE_CHILDREN);
    measured_ = measure_prices(library_, sources_, is_full_);
    spent_seconds_ = cpu_seconds_of(RUSAGE_CHILDREN) - before_seconds;
    if (measured_->ns == recorder_rounds::prices{}) return *measured_;  // nothing could be measured
    cache(file, {{"facts", facts},
                 {"date", date_before_now(std::chrono::seconds(0))},
                 {"is_disturbed", measured_->is_disturbed},
                 {"ns", measured_->ns}});
  }
  return *measured_;
}

std::uint64_t recorder_prices::collector_us() const {
  return static_cast<std::uint64_t>((cpu_seconds_of(RUSAGE_SELF) + spent_seconds_) * 1e6);
}

}  // namespace tarn::command
