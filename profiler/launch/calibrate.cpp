#include "profiler/launch/calibrate.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"
#include "profiler/base/memory_file.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/launch/machine_cache.hpp"
#include "profiler/launch/replay_cache.hpp"
#include "profiler/predict/measure_calls.hpp"
#include "profiler/report/report.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;
using analyse::cost_model;
using nlohmann::json;

constexpr const char* cost_file = "costs.json";

// Returns our environment without the variables that change an allocator.
std::vector<std::string> plain_environment(const std::string& preloaded) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with("TARN_") && !variable.starts_with("LD_") && !variable.starts_with("MALLOC_") &&
        !variable.starts_with("GLIBC_TUNABLES="))
      variables.emplace_back(variable);
  }
  if (!preloaded.empty()) variables.push_back("LD_PRELOAD=" + preloaded);
  return variables;
}

// Runs `tarn measure` in a process of its own, and returns its output. `command` begins with a program's path.
std::string output_of(const std::vector<std::string>& command, const std::string& preloaded = {},
                      std::string_view input = {}) {
  helper_result result = run_helper(command, input, false, plain_environment(preloaded));
  if (result.code != 0) {
    std::string_view reason = result.errors;
    if (reason.starts_with("tarn: ")) reason.remove_prefix(std::string_view("tarn: ").size());
    reason = reason.substr(0, reason.find('\n'));
    fail(exit_code::io_error, "cannot measure the cost model: tarn measure {} ended with exit code {}{}{}",
         command.back(), result.code, reason.empty() ? "" : ": ", reason);
  }
  return std::move(result.output);
}

cost_model measured_by(const std::vector<std::string>& command, const std::string& preloaded = {}) {
  try {
    return analyse::cost_model_from(json::parse(output_of(command, preloaded)));
  } catch (const json::exception& error) {
    fail(exit_code::io_error, "cannot measure the cost model: {}", error.what());
  }
}

void take(cost_model& target, const cost_model& source) {
  for (std::size_t server = 0; server < analyse::allocator_count; ++server) {
    for (std::size_t pattern = 0; pattern < analyse::pattern_count; ++pattern) {
      if (source.pairs[server][pattern][0] >= 0) target.pairs[server][pattern] = source.pairs[server][pattern];
    }
  }
}

analyse::call_ns median_of(const std::array<analyse::call_ns, 3>& calls) {
  const auto median = [&](double analyse::call_ns::*member) {
    std::array<double, 3> values = {calls[0].*member, calls[1].*member, calls[2].*member};
    std::sort(values.begin(), values.end());
    return values[1];
  };
  return {median(&analyse::call_ns::overlapping), median(&analyse::call_ns::mispredicted),
          median(&analyse::call_ns::hidden)};
}

cost_model measure_costs(const analyse::cost_facts& today) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  cost_model model = measured_by({self, "measure", "parts"});
  model.facts = today;
  take(model, measured_by({self, "measure", "preloaded"}, find_library("libtarn-malloc.so", {})));
  const memory_file recording(true);
  model.calls = measured_by({self, "measure", "calls"}).calls;
  try {
    output_of({self, "record", "--syscalls", "--full", "-o", recording.path(), "--", self, "measure", "calls"});
    model.calls.slowdown = stretch_of(parse_recording(recording.path(), recording.read()), model.calls);
  } catch (const failure&) {  // system calls cannot be recorded here
  }
  return model;
}

constexpr const char* disturbed_field = "is_disturbed";

// Returns whether the costs of the file are as good as those that would be measured now.
bool is_current(const json& stored, const cost_model& model, const analyse::cost_facts& today) {
  if (!model.facts.is_comparable(today)) return false;
  return !stored.value(disturbed_field, false) || model.facts.date > date_before_now(disturbed_costs_age);
}

}  // namespace

cost_model machine_costs(bool must_measure) {
  const analyse::cost_facts today = facts_of_today();
  if (!must_measure) {
    try {
      if (const json costs = read_cached(cost_file); !costs.is_null()) {
        cost_model stored = analyse::cost_model_from(costs);
        if (is_current(costs, stored, today)) return stored;
      }
    } catch (const json::exception&) {  // of another version: it is measured again
    }
  }
  if (must_measure) replay_cache::forget();
  const calibration_time time;
  cost_model model = measure_costs(today);
  json costs = analyse::to_json(model);
  if (time.is_disturbed()) costs[disturbed_field] = true;
  cache(cost_file, costs);
  return model;
}

namespace {

// Replays the jobs, whatever the cache has.
std::vector<analyse::replayed> new_replays_of(const std::vector<analyse::replay_job>& jobs) {
  const std::string self = fs::read_symlink("/proc/self/exe").string(), bytes = analyse::encode(jobs);
  const std::string drop_in = find_library("libtarn-malloc.so", {});
  const auto replayed_by = [&](const char* subcommand, const std::string& preloaded) {
    std::vector<analyse::replayed> results =
        analyse::replayed_from(output_of({self, "measure", subcommand}, preloaded, bytes));
    results.resize(jobs.size());
    return results;
  };
  try {
    std::vector<analyse::replayed> results = replayed_by("replay", {});
    // Two processes are compared here. They take turns, because the load of the machine changes between them.
    std::vector<std::array<std::array<analyse::call_ns, 3>, 2>> rounds(jobs.size());
    for (std::size_t round = 0; round < 3; ++round) {
      for (const bool is_drop_in : {false, true}) {
        const std::vector<analyse::replayed> now = replayed_by("replay-now", is_drop_in ? drop_in : "");
        for (std::size_t index = 0; index < jobs.size(); ++index) rounds[index][is_drop_in][round] = now[index].now;
      }
    }
    for (std::size_t index = 0; index < jobs.size(); ++index)
      results[index].drop_in = median_of(rounds[index][false]) - median_of(rounds[index][true]);
    return results;
  } catch (const json::exception& error) {
    fail(exit_code::io_error, "cannot replay trace excerpts: {}", error.what());
  }
}

}  // namespace

std::vector<analyse::replayed> replays_of(const std::vector<analyse::replay_job>& jobs) {
  replay_cache stored;
  std::vector<analyse::replayed> results(jobs.size());
  std::vector<analyse::replay_job> new_jobs;
  std::vector<std::size_t> new_indexes;
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    if (const auto result = stored.find(jobs[index])) {
      results[index] = *result;
      continue;
    }
    new_jobs.push_back(jobs[index]);
    new_indexes.push_back(index);
  }
  if (new_jobs.empty()) return results;
  const std::vector<analyse::replayed> new_results = new_replays_of(new_jobs);
  for (std::size_t index = 0; index < new_jobs.size(); ++index) {
    results[new_indexes[index]] = new_results[index];
    stored.add(new_jobs[index], new_results[index]);
  }
  stored.write();
  return results;
}

}  // namespace tarn::command
