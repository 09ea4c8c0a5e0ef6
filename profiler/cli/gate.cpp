// `tarn gate`: exits with 1 when a recording is above a limit, for continuous integration.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/advise/limits.hpp"
#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"
#include "profiler/findings/heap/own_malloc.hpp"
#include "profiler/findings/unrecorded.hpp"
#include "profiler/launch/calibrate.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/values.hpp"
#include "profiler/report/views.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

using analyse::limit;
using analyse::limit_check;
using nlohmann::json;

struct gate_request {
  std::string path;
  std::vector<std::string> limits;  // files and expressions, as the user gave them
  double requests = 0;
  bool as_json = false;
};

// [max] holds the limits; `requests` is the number of requests that the recorded program served.
void read_limits(const std::string& path, std::vector<limit>& limits, double& requests) {
  try {
    const toml::table file = toml::parse_file(path);
    for (const auto& [key, value] : file) {
      if (key != "max" && key != "requests")
        fail(exit_code::io_error, "{}: unknown key \"{}\"; the keys are max and requests", path, key.str());
    }
    if (const toml::node* const number = file.get("requests"); requests == 0 && number != nullptr) {
      requests = number->value<double>().value_or(0);
      if (!(requests > 0) || !std::isfinite(requests))
        fail(exit_code::io_error, "{}: requests is not a number above 0", path);
    }
    const toml::table* const maxima = file["max"].as_table();
    if (maxima == nullptr) fail(exit_code::io_error, "{}: the table [max] is missing", path);
    if (maxima->empty()) fail(exit_code::io_error, "{}: the table [max] has no limit", path);
    for (const auto& [key, value] : *maxima) {
      const std::string key_text(key.str());
      if (const auto text = value.value_exact<std::string>()) {
        limits.push_back(analyse::limit_of(key_text + " <= " + *text));
      } else if (const auto number = value.value<double>()) {
        limits.push_back(analyse::limit_of(key_text, *number));
      } else {
        fail(exit_code::io_error, "{}: the limit of \"{}\" is not a number", path, key_text);
      }
    }
  } catch (const toml::parse_error& error) {
    if (error.source().begin.line == 0) fail(exit_code::io_error, "{}: {}", path, error.description());
    fail(exit_code::io_error, "{}:{}: {}", path, error.source().begin.line, error.description());
  } catch (const analyse::wrong_limit& error) {
    fail(exit_code::io_error, "{}: {}", path, error.what());
  }
}

// Limits on memory show no remedy, because remedies save time.
bool may_have_remedy(const limit_check& check) {
  return check.is_broken() && check.largest != nullptr && !analyse::is_of_memory(check.checked.metric);
}
std::string remedy_of(const limit_check& check) { return may_have_remedy(check) ? check.largest->remedy : ""; }

std::string limit_text(const limit& limit, double value) {
  if (analyse::is_share(limit.metric)) {
    const char* const whole = limit.metric == limit::metric_kind::lock_waits ? " of one thread" : "";
    return fmt::format("{:.3g} %{}", value * 100, whole);
  }
  constexpr double ns_per_second = 1e9;
  if (limit.metric == limit::metric_kind::cpu_time) return duration_text(value * ns_per_second);
  const std::string number = limit.is_per_request ? fmt::format("{:.3g}", value)
                                                  : group_digits(static_cast<std::uint64_t>(std::llround(value)));
  if (!analyse::is_of_memory(limit.metric)) return number;
  return number + (number == "1" ? " byte" : " bytes") + (limit.metric == limit::metric_kind::growth ? "/s" : "");
}

std::string checked_text(const limit_check& check) {
  const limit& limit = check.checked;
  const std::string value = limit_text(limit, check.value), low = limit_text(limit, check.range.low),
                    high = limit_text(limit, check.range.high);
  if (limit.metric == limit::metric_kind::share) return "about " + value;  // the middle of a range
  return low == high ? value : fmt::format("about {} ({}–{})", value, low, high);
}

// Names the place, or that the dynamic linker starts a library there, which no line of the program can change.
std::string largest_text(const analyse::location_sums& largest) {
  const std::string file(analyse::file_name(largest.file));
  if (file == "dl-init.c" || file.starts_with("ld-linux")) return "the start-up of a library";
  return without_controls(fmt::format("{}:{} {}", file, largest.line, largest.function));
}

void print_check(const limit_check& check) {
  fmt::print("{}{}: {}, limit {}", check.is_open() ? "open: " : "", check.checked.text, checked_text(check),
             limit_text(check.checked, check.checked.maximum));
  if (check.largest != nullptr) {
    fmt::print("; largest at {}", largest_text(*check.largest));
    const std::string remedy = remedy_of(check);
    if (!remedy.empty()) fmt::print("; {}", remedy);
  }
  fmt::print("\n");
}

json json_of(const limit_check& check) {
  json largest;
  if (check.largest != nullptr) {
    largest = {{"function", check.largest->function},
               {"file", check.largest->file},
               {"line", check.largest->line},
               {"remedy", remedy_of(check)}};
  }
  return {{"limit", check.checked.text},
          {"value", check.value},
          {"range", {check.range.low, check.range.high}},
          {"maximum", check.checked.maximum},
          {"holds", check.is_open() ? json() : json(!check.is_broken())},
          {"largest", largest}};
}

// A limit that could never be broken in this recording, and the reason.
struct unchecked_limit {
  limit refused;
  std::string reason;
  exit_code code = exit_code::usage;
};

json json_of(const unchecked_limit& limit) {
  return {{"limit", limit.refused.text},
          {"value", json()},
          {"range", json()},
          {"maximum", limit.refused.maximum},
          {"holds", json()},
          {"largest", json()},
          {"reason", limit.reason}};
}

// The number of broken limits, and of those that the recording cannot decide.
struct verdict_counts {
  std::size_t broken = 0, open = 0, limits = 0;
  verdict_counts(const std::vector<limit_check>& checks, std::size_t unchecked) : limits(checks.size() + unchecked) {
    for (const limit_check& check : checks) {
      if (check.is_broken()) ++broken;
      if (check.is_open()) ++open;
    }
  }
};

void print_json(const std::vector<limit_check>& checks, const std::vector<unchecked_limit>& unchecked,
                const verdict_counts& counts, const std::vector<std::string>& not_recorded) {
  json limits = json::array();
  for (const limit_check& check : checks) limits.push_back(json_of(check));
  for (const unchecked_limit& limit : unchecked) limits.push_back(json_of(limit));
  const json holds = counts.broken == 0 && counts.open != 0 ? json() : json(counts.broken == 0);
  const json text = {{"version", 2}, {"holds", holds}, {"not_recorded", not_recorded}, {"limits", limits}};
  fmt::print("{}\n", text.dump(1, ' ', false, json::error_handler_t::replace));
}

void print_verdict(const verdict_counts& counts, const std::string& path) {
  const std::string limits = count_text(counts.limits, "limit");
  if (counts.broken != 0) return fmt::print("Failed: {} breaks {} of {}.\n", path, counts.broken, limits);
  if (counts.open != 0) return fmt::print("Open: {} does not decide {} of {}.\n", path, counts.open, limits);
  fmt::print("Passed: {} keeps {}.\n", path, limits);
}

analyse::totals totals_of(analyse::analysis& analysis) {
  const format::recording& recording = analysis.recording();
  analyse::totals whole;
  whole.heap_share = analysis.share(analysis.whole().heap_ns).middle();
  const double wall_ns = static_cast<double>(recording.end.wall_us) * 1e3;
  if (wall_ns > 0) whole.lock_waits = static_cast<double>(analysis.locks().wait_nanoseconds) / wall_ns;
  whole.system_calls = static_cast<double>(analysis.calls().calls);
  whole.system_call_error = analysis.calls().error;
  whole.interval = static_cast<double>(recording.program.interval);
  whole.allocations = static_cast<double>(analysis.heap().allocations);
  whole.bytes = static_cast<double>(analysis.heap().bytes);
  whole.peak_range = analysis.memory().peak_range;
  whole.end_range = analysis.memory().end_range;
  const analyse::range cpu_ns = analysis.whole().cpu_ns;
  whole.cpu_seconds = {cpu_ns.low * 1e-9, cpu_ns.high * 1e-9};
  whole.samples = analysis.cpu().samples;
  whole.share_at = [&](const limit& limit) {
    return analyse::share_at(recording, analysis.names(), [&](const analyse::code_location& location) {
      return analyse::is_meant(limit, analyse::without_arguments(location.function),
                               location.file.empty() ? location.module : location.file);
    });
  };
  for (const auto& [key, counts] : recording.violations)
    whole.violations += static_cast<double>(analyse::violations(counts));
  return whole;
}

// Returns what the recording does not show of memory; empty if the limit can be checked.
std::string missing_memory(const limit& limit, analyse::analysis& analysis) {
  using metric_kind = limit::metric_kind;
  const analyse::memory_findings& memory = analysis.memory();
  const format::program_facts& program = analysis.recording().program;
  const bool tells_no_peak = memory.peak_bytes == 0 && (program.interval == 0 || program.is_late);
  if (limit.metric == metric_kind::peak && tells_no_peak && analysis.heap().bytes != 0)
    return "the recording does not cover the program from its beginning";
  if (limit.metric == metric_kind::never_freed && analysis.recording().end.is_running)
    return "the program still ran when the recording ended; use \"in use at the end\"";
  if (limit.metric == metric_kind::growth && !memory.has_trends) {
    return fmt::format(
        "it has {}, and growth is told from {} on; a run of 0.6 s has them, on a busy machine a longer one",
        count_text(analysis.recording().snapshots.size(), "snapshot"), analyse::min_trend_snapshots);
  }
  return "";
}

// Returns which source was not recorded; empty if the limit can be checked.
std::string missing_source(const limit& limit, const format::recording& recording) {
  using metric_kind = limit::metric_kind;
  if (limit.metric == metric_kind::violations)
    return recording.quiet_regions.empty() ? "no quiet region was entered" : "";
  if (analyse::is_of_processor(limit.metric)) {
    const bool is_of_place = !limit.function.empty() || !limit.file.empty();
    if (is_of_place && recording.cpu.interval_ns == 0) return "the processor was not sampled; tarn record --cpu";
    if (!is_of_place && recording.end.user_us + recording.end.system_us == 0) return "the recording has no CPU time";
    return "";
  }
  const std::string_view needed = limit.metric == metric_kind::lock_waits     ? "locks"
                                  : limit.metric == metric_kind::system_calls ? "system calls"
                                                                              : "heap";
  if (limit.metric == metric_kind::system_calls && recording.unrecorded.is_restricted)
    return "the program restricted its system calls (seccomp), and later ones were not recorded";
  if (!recording.program.has_source(needed) || (needed == "heap" && !records_heap(recording)))
    return fmt::format("the recording has no {}", needed);
  return "";
}

// Returns why no site can be in the function or the file of the limit: the name is misspelt, or was changed. Empty if
// the limit can be checked.
std::string missing_place(const limit& limit, const std::vector<analyse::location_sums>& locations,
                          analyse::analysis& analysis) {
  const auto is_meant = [&](const analyse::location_sums& sums) {
    return analyse::is_meant(limit, sums.function, sums.file);
  };
  if (std::any_of(locations.begin(), locations.end(), is_meant)) return "";
  const auto is_function = [&](const std::string& name) {
    return analyse::is_at(limit, analyse::without_arguments(name));
  };
  if (!limit.function.empty() && !analysis.names().has_function(is_function))
    return "no recorded stack or program has a function of that name";
  const auto is_file = [&](const std::string& name) { return analyse::is_in(limit, name); };
  if (!limit.file.empty() && !analysis.names().has_file(is_file))
    return "no recorded stack or program has a source file of that name";
  return "";
}

// Returns the functions that limits name. A report passes over functions that seem to allocate for their callers only.
std::vector<std::string> named_functions(const std::vector<limit>& limits) {
  std::vector<std::string> names;
  for (const limit& limit : limits) {
    if (!limit.function.empty()) names.push_back(limit.function);
  }
  return names;
}

// Takes the limits that cannot be checked out of `limits`.
std::vector<unchecked_limit> take_unchecked(std::vector<limit>& limits,
                                            const std::vector<analyse::location_sums>& locations,
                                            analyse::analysis& analysis) {
  std::vector<unchecked_limit> unchecked;
  std::erase_if(limits, [&](const limit& limit) {
    const format::recording& recording = analysis.recording();
    std::string reason = missing_source(limit, recording);
    if (reason.empty()) reason = missing_memory(limit, analysis);
    if (reason.empty()) reason = missing_place(limit, locations, analysis);
    if (reason.empty()) return false;
    const bool is_restricted = limit.metric == limit::metric_kind::system_calls && recording.unrecorded.is_restricted;
    unchecked.push_back({limit, reason, is_restricted ? exit_code::io_error : exit_code::usage});
    return true;
  });
  return unchecked;
}

// Returns the places as `tarn report` judges them, with its remedies. It replays for half a second, so that it runs
// only for a broken limit. Throws a failure if the machine cannot be measured.
analyse::located_sums places_with_remedies(analyse::analysis& analysis) {
  analysis.set_costs(machine_costs(false));
  replay_dearest(analysis, analysis.grouped_sites());
  return sums_by_location(analysis);
}

// Returns whether all limits hold.
bool gate(const gate_request& request) {
  std::vector<limit> limits;
  double requests = request.requests;
  for (const std::string& argument : request.limits) {
    if (argument.ends_with(".toml")) {
      read_limits(argument, limits, requests);
      continue;
    }
    try {
      limits.push_back(analyse::limit_of(argument));
    } catch (const analyse::wrong_limit& error) {
      fail(exit_code::usage, "{}", error.what());
    }
  }
  std::string bytes = recording_content(request.path);
  format::recording recording = parse_recording(request.path, bytes);
  if (!recording.damage.empty() || !recording.has_ended || recording.work.is_missing()) {
    fail(exit_code::io_error, "{}: the recording is incomplete; gates need a complete run", request.path);
  }
  const auto has = [&](limit::metric_kind metric) {
    return std::any_of(limits.begin(), limits.end(), [&](const limit& limit) { return limit.metric == metric; });
  };
  if (!has(limit::metric_kind::growth)) bytes.clear();  // nothing else needs the history
  analyse::analysis analysis(std::move(recording),
                             has(limit::metric_kind::share) ? machine_costs(false) : analyse::cost_model(),
                             {.bytes = std::move(bytes), .deciding = named_functions(limits)});
  if (has(limit::metric_kind::share)) replay_dearest(analysis, analysis.grouped_sites());  // as a report does
  const analyse::located_sums located = sums_by_location(analysis);
  const std::vector<unchecked_limit> unchecked = take_unchecked(limits, located.locations, analysis);
  const analyse::totals whole = totals_of(analysis);
  std::vector<limit_check> checks;
  try {
    checks = analyse::check_limits(limits, located, whole, requests);
  } catch (const analyse::wrong_limit& error) {
    fail(exit_code::usage, "{}; use --requests N, or requests = N in the file", error.what());
  }
  const verdict_counts counts(checks, unchecked.size());
  if (counts.broken == 0 && !unchecked.empty()) {
    const unchecked_limit& first = unchecked.front();
    fail(first.code, "\"{}\" cannot be checked in {}: {}", first.refused.text, request.path, first.reason);
  }
  analyse::located_sums places_to_mend;
  if (std::any_of(checks.begin(), checks.end(), may_have_remedy)) {
    try {
      places_to_mend = places_with_remedies(analysis);
      checks = analyse::check_limits(limits, places_to_mend, whole, requests);
    } catch (const failure& reason) {  // the limits are broken all the same
      print_error("tarn: {}; the remedies are shown without predicted savings\n", reason.what());
    }
  }
  const std::vector<std::string> not_recorded = unrecorded_text(analysis.recording());
  for (const std::string& line : not_recorded) print_error("tarn: {}\n", line);
  if (!not_recorded.empty()) print_error("tarn: the limits are checked in what was recorded alone\n");
  if (request.as_json) {
    print_json(checks, unchecked, counts, not_recorded);
  } else {
    print_verdict(counts, request.path);
    for (const limit_check& check : checks) {
      if (check.is_broken() || check.is_open()) print_check(check);
    }
    for (const unchecked_limit& limit : unchecked)
      fmt::print("not checked: {}: {}\n", limit.refused.text, limit.reason);
  }
  if (counts.broken == 0 && counts.open != 0) {
    const bool is_of_heap = std::any_of(checks.begin(), checks.end(), [](const limit_check& check) {
      return check.is_open() && !analyse::is_of_processor(check.checked.metric);
    });
    fail(exit_code::undecided, "the samples of {} do not decide {} of {}; {}", request.path, counts.open,
         count_text(counts.limits, "limit"),
         is_of_heap ? "tarn record --full counts everything, and a smaller --sample narrows the ranges"
                    : "a longer run narrows the ranges");
  }
  return counts.broken == 0;
}

}  // namespace

void add_gate(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("gate", "Check a recording against limits; exit code 1 if one is broken.");
  const auto request = std::make_shared<gate_request>();
  command->add_option("FILE", request->path, "recording to check")->required();
  command
      ->add_option("--max", request->limits,
                   "limit such as 'same-thread allocations <= 1000', or a file of limits; may be repeated")
      ->required()
      ->expected(1)
      ->take_all()
      ->type_name("FILE.toml|LIMIT");
  command
      ->add_option("--requests", request->requests,
                   "number of requests that the program served, for limits per request")
      ->check(refuse_unless_positive)
      ->type_name("N");
  command->add_flag("--json", request->as_json, "print JSON (share/doc/tarn/reference/report-json.md)");
  command->footer(
      "A limit: [same-thread|cross-thread|start-up|kept] allocations|bytes|copied bytes|remote frees|sites|peak|\n"
      "in use at the end|never freed|growth [at function NAME|at file NAME] <= NUMBER[k|M|G|KiB|MiB|GiB]\n"
      "[per request]; or: cpu time [at function NAME|at file NAME] <= NUMBER s|ms|us [per request],\n"
      "cpu share at function NAME|at file NAME <= NUMBER %, heap share <= NUMBER %,\n"
      "lock waits <= NUMBER % of one thread, system calls <= NUMBER [per request],\n"
      "violations <= NUMBER (calls in quiet regions).\n"
      "A file has them in a table [max], as \"same-thread allocations\" = 1000, and requests = N above it.\n"
      "The first line is the verdict; one line for each broken limit follows. Exit code: 0 all limits hold,\n"
      "1 a limit is broken, 6 the recording's samples do not tell, others are errors "
      "(share/doc/tarn/reference/exit-codes.md).");
  command->callback([request] {
    if (!gate(*request)) throw CLI::RuntimeError(static_cast<int>(exit_code::check_failed));
  });
}

}  // namespace tarn::command
