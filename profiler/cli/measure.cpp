// `tarn measure parts|preloaded|recorder|calls|replay`: prints costs on this machine as JSON, or those of the steps
// that it reads from its standard input. The help does not list it: `tarn report` starts it, in processes that have
// the allocator under test and nothing else in their environment.
#include <fmt/format.h>
#include <time.h>

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "profiler/cli/commands.hpp"
#include "profiler/predict/measure_allocators.hpp"
#include "profiler/predict/measure_calls.hpp"
#include "profiler/predict/measure_recorder.hpp"
#include "profiler/predict/replay.hpp"

namespace tarn::command {
namespace {

using analyse::cost_model;

void add(CLI::App& parent, const char* name, cost_model (*measure)()) {
  parent.add_subcommand(name)->callback([measure] { fmt::print("{}\n", analyse::to_json(measure()).dump()); });
}

}  // namespace

void add_measure(CLI::App& application) {
  CLI::App* const command = application.add_subcommand("measure", "Print what memory costs here, as JSON.");
  command->group("");  // not in the help
  command->require_subcommand(1);
  add(*command, "parts", measure_parts);
  add(*command, "preloaded", measure_preloaded);
  command->add_subcommand("recorder")->callback([] {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    const analyse::work_times times =
        measure_recorder(static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec));
    fmt::print("{}\n", nlohmann::json{{"ns", times.ns},
                                      {"dispatches_of_thread", times.dispatches_of_thread},
                                      {"changes_of_thread", times.changes_of_thread}}
                           .dump());
  });
  add(*command, "calls", [] {
    cost_model model;
    model.calls = measure_calls();
    return model;
  });
  const auto add_replay = [command](const char* name, replay_scope scope) {
    command->add_subcommand(name)->callback([scope] {
      const std::string bytes((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
      fmt::print("{}\n", analyse::json_of(replay(analyse::decode_jobs(bytes), scope)));
    });
  };
  add_replay("replay", replay_scope::remedies);
  add_replay("replay-now", replay_scope::now);
}

}  // namespace tarn::command
