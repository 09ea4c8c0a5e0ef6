#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/export/formats.hpp"
#include "profiler/export/frames.hpp"
#include "profiler/findings/heap/findings.hpp"
#include "profiler/findings/waits/stacks.hpp"
#include "profiler/format/checksum.hpp"
#include "profiler/predict/call_savings.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::exports {
namespace {

std::int64_t as_signed(std::uint64_t number) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(number, largest));  // more comes from a broken file
}

// The first remedy of a site. Its saving is CPU time of the whole run; empty if it is not predicted.
struct site_remedy {
  std::string_view name;
  std::optional<analyse::range> saving;
  measure weight = allocations;  // of which each row has its part of the saving
  std::uint64_t total = 0;
};

using site_key = std::tuple<sample_source, std::uint32_t, std::string_view, std::string_view>;
site_key key_of(const sample& sample) { return {sample.source, sample.site, sample.operation, sample.category}; }

// Returns the remedies of the sites that have one. Those of system calls and locks have the name of the category.
std::map<site_key, site_remedy> remedies_in(analyse::analysis& analysis) {
  constexpr std::size_t max_sites = 200;  // to look at one takes up to some milliseconds
  std::map<site_key, site_remedy> remedies;
  const std::vector<analyse::site>& sites = analysis.heap().sites;
  for (std::size_t index = 0; index < std::min(max_sites, sites.size()); ++index) {
    const analyse::site_view view = analysis.view(sites[index]);
    if (!view.is_worth_it || view.offers.empty()) continue;
    const analyse::prediction& first = view.offers.front().predicted;
    remedies[{sample_source::heap, sites[index].number, {}, analyse::name(sites[index].category)}] = {
        analyse::name(first.remedy), first.saved_ns, allocations, sites[index].sums[format::blocks]};
  }
  for (const auto& [key, index] : analysis.calls().index_by_site) {
    const analyse::call_site& site = analysis.calls().sites[index];
    if (site.remedy.empty()) continue;
    const analyse::call_saving saving = analyse::saving_of(site, analysis.recording(), analysis.costs());
    remedies[{sample_source::call, key.first, site.name, analyse::name(site.category)}] = {
        analyse::name(site.category), saving.not_predicted.empty() ? std::optional(saving.ns) : std::nullopt, calls,
        site.sums[format::calls]};
  }
  for (const analyse::lock_group& group : analysis.locks().groups) {
    if (group.remedy.empty()) continue;
    const std::string_view category = analyse::name(group.category);
    for (const auto& [site, index] : group.index_by_site)
      remedies[{sample_source::lock, site, analyse::name(group.type), category}] = {category, {}, lock_wait, 0};
  }
  return remedies;
}

// Returns the CPU time of an allocation with its free, in nanoseconds, by site.
std::map<std::uint32_t, double> heap_prices(const analyse::analysis& analysis) {
  std::map<std::uint32_t, double> prices;
  for (const analyse::site& site : analysis.heap().sites) {
    const auto blocks = static_cast<double>(site.sums[format::blocks]);
    if (blocks != 0) prices[site.number] = analysis.now_ns_of(site).middle() / blocks;
  }
  return prices;
}

// Returns the time that the row stands for.
std::int64_t cost_of(const sample& sample, const std::map<std::uint32_t, double>& prices) {
  switch (sample.source) {
    case sample_source::heap: {
      const auto price = prices.find(sample.site);
      return price == prices.end() ? 0 : std::llround(price->second * static_cast<double>(sample.sums[allocations]));
    }
    case sample_source::lock: return as_signed(sample.sums[lock_wait]);
    case sample_source::call: return as_signed(sample.sums[call_time]);
    case sample_source::cpu: return as_signed(sample.sums[cpu_time]);
    case sample_source::wait: return as_signed(sample.sums[wait_time]);
  }
  return 0;
}

std::string id_of(const std::string& text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

std::string module_key(const format::recording& recording, std::size_t index) {
  if (index == no_module) return "";
  const format::module_facts& module = recording.modules[index];
  return module.build_id.empty() ? analyse::file_name(module.path) : module.build_id;
}

// Returns an id of the stack that is equal wherever this build runs, with the same libraries.
std::string site_id(const profile& profile, std::uint32_t site) {
  std::string text;
  for (const std::uint32_t number : profile.stacks()[site]) {
    const location& location = profile.locations()[number];
    text += location.module == no_module
                ? frame_name(location.lines->front())
                : fmt::format("{}+{:x}", module_key(profile.recording(), location.module),
                              location.address - profile.recording().modules[location.module].bias);
    text += '\n';
  }
  return id_of(text);
}

// Returns an id that is equal in all builds that have the function. A function without a name exists in one build.
std::string function_id(const profile& profile, const analyse::code_location& location) {
  if (!location.function.empty()) return id_of(analyse::file_name(location.module) + '\n' + location.function);
  const std::vector<format::module_facts>& modules = profile.recording().modules;
  const auto module = std::find_if(modules.begin(), modules.end(),
                                   [&](const format::module_facts& loaded) { return loaded.path == location.module; });
  return id_of(fmt::format("{}+{:x}", module == modules.end() ? location.module : module->build_id, location.offset));
}

std::string program_file_name(const format::recording& recording) {
  const std::vector<std::string>& arguments = recording.program.arguments;
  return arguments.empty() ? "program" : analyse::file_name(arguments.front());
}

// Returns the build id of the program's file, or its name if it has none.
std::string build_of(const format::recording& recording) {
  const std::string program = program_file_name(recording);
  for (std::size_t index = recording.modules.size(); index-- > 0;) {  // that of the last image, after an exec
    if (analyse::file_name(recording.modules[index].path) == program) return module_key(recording, index);
  }
  return program;
}

// Returns an id of the recorded process and of the time at which this file began. Files that a host sends twice have
// the same, also if one of them was read earlier and is shorter. Addresses differ from process to process, so that
// equal numbers of processes in containers of one name are told apart.
std::string recording_id(const format::recording& recording) {
  const format::program_facts& program = recording.program;
  return id_of(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", program.host, program.machine, program.process,
                           program.started, program_name(recording),
                           recording.modules.empty() ? 0 : recording.modules.front().start, recording.part.from_ns));
}

// The columns that are the same in all rows of a recording.
nlohmann::json facts_of(const profile& profile, const row_labels& labels) {
  const format::recording& recording = profile.recording();
  const row_labels filled = complete_labels(labels, profile);
  return {{"schema", row_schema},
          {"recording", recording_id(recording)},
          {"host", filled.host},
          {"service", filled.service},
          {"version", filled.version},
          {"container", filled.container},
          {"labels", filled.others},
          {"build", build_of(recording)},
          {"program", program_name(recording)},
          {"machine", recording.program.machine},
          {"process", as_signed(recording.program.process)},
          {"started", as_signed(recording.program.started)},
          {"length", as_signed(profile.length_ns())},
          {"program_cpu_time", std::llround(profile.analysis().whole().cpu_ns.middle())}};
}

}  // namespace

std::vector<column> row_columns() {
  std::vector<column> columns;
  for (const char* const name : {"schema", "process", "started", "length", "program_cpu_time", "line"})
    columns.push_back({name, column_type::number});
  for (const char* const name : {"recording", "host",        "service",  "version",  "container", "labels", "build",
                                 "program",   "machine",     "source",   "category", "operation", "thread", "freed_by",
                                 "site",      "function_id", "function", "file",     "stack",     "remedy"})
    columns.push_back({name, column_type::text});
  for (const char* const name : {"cost", "saving_low", "saving_high"}) columns.push_back({name, column_type::number});
  for (const measure_info& measure : measures) columns.push_back({measure.name, column_type::number});
  return columns;
}

row_labels complete_labels(const row_labels& labels, const profile& profile) {
  const auto either = [](const std::string& label, const std::string& fact) { return label.empty() ? fact : label; };
  const format::recording& recording = profile.recording();
  row_labels filled = labels;
  filled.service = either(labels.service, program_file_name(recording));
  filled.version = either(labels.version, build_of(recording));
  filled.host = either(labels.host, recording.program.host);
  return filled;
}

void write_rows(const profile& profile, const row_labels& labels, const sink& output) {
  const format::recording& recording = profile.recording();
  frames frames(profile);
  const nlohmann::json facts = facts_of(profile, labels);
  const std::map<std::uint32_t, double> prices = heap_prices(profile.analysis());
  const std::map<site_key, site_remedy> remedies = remedies_in(profile.analysis());
  for (const sample& sample : profile.samples()) {
    std::vector<analyse::code_location> stack;  // innermost first
    for (const std::uint32_t index : profile.stacks()[sample.site]) {
      const std::vector<analyse::code_location>& lines = *profile.locations()[index].lines;
      stack.insert(stack.end(), lines.begin(), lines.end());
    }
    const std::vector<analyse::code_location> own_frames = analyse::stack_of(std::move(stack));
    const bool has_frames = !own_frames.empty();
    const std::size_t index_of_own = sample.source == sample_source::cpu ? 0 : analyse::own_frame_index(own_frames);
    const analyse::code_location location = has_frames ? own_frames[index_of_own] : analyse::code_location();
    std::string whole;
    const std::vector<std::uint32_t> numbers = frames.stack_of(sample);
    for (std::size_t index = 1; index + 1 < numbers.size(); ++index) {
      whole += (whole.empty() ? "" : ";") + frames.list()[numbers[index]].name;
    }
    nlohmann::json row = facts;
    row.update({{"source", name(sample.source)},
                {"category", sample.category},
                {"operation", sample.operation},
                {"thread", thread_name(recording, sample.thread)},
                {"freed_by", thread_name(recording, sample.freed_by)},
                {"site", site_id(profile, sample.site)},
                {"function_id", has_frames ? function_id(profile, location) : id_of(std::string(no_stack))},
                {"function", has_frames ? frame_name(location) : std::string(no_stack)},
                {"file", location.file},
                {"line", location.line},
                {"stack", whole},
                {"cost", cost_of(sample, prices)},
                {"remedy", ""},
                {"saving_low", 0},
                {"saving_high", 0}});
    for (std::size_t index = 0; index < measure_count; ++index)
      row[measures[index].name] = as_signed(sample.sums[index]);
    if (const auto match = remedies.find(key_of(sample)); match != remedies.end()) {
      const site_remedy& remedy = match->second;
      row["remedy"] = remedy.name;
      if (remedy.saving && remedy.total != 0) {
        const double part = static_cast<double>(sample.sums[remedy.weight]) / static_cast<double>(remedy.total);
        row["saving_low"] = std::llround(remedy.saving->low * part);
        row["saving_high"] = std::llround(remedy.saving->high * part);
      }
    }
    output(row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  }
}

}  // namespace tarn::exports
