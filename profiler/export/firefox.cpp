#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "profiler/export/formats.hpp"

#include "profiler/symbols/names.hpp"

namespace tarn::exports {
namespace {

using nlohmann::json;

constexpr int processed_version = 60;  // the first version of the format whose threads share their stacks
constexpr int gecko_version = 31;

// The first category belongs to frames without one, and must be grey.
struct category_info {
  const char* name;
  const char* colour;
};
constexpr std::array<category_info, 17> categories = {{{"other", "grey"},
                                                       {"same-thread", "orange"},
                                                       {"cross-thread", "red"},
                                                       {"start-up", "lightblue"},
                                                       {"kept", "blue"},
                                                       {"contended", "red"},
                                                       {"uncontended", "yellow"},
                                                       {"one thread", "orange"},
                                                       {"condition", "grey"},
                                                       {"small", "orange"},
                                                       {"repeated", "magenta"},
                                                       {"batch", "purple"},
                                                       {"memory", "brown"},
                                                       {"waits", "green"},
                                                       {"needed", "lightblue"},
                                                       {"running", "green"},
                                                       {"waiting", "grey"}}};

std::size_t category_of(std::string_view name) {
  const auto match =
      std::find_if(categories.begin(), categories.end(), [&](const auto& category) { return category.name == name; });
  return match == categories.end() ? 0 : static_cast<std::size_t>(match - categories.begin());
}

// Writes a build id as Breakpad does: the first 16 bytes as a GUID, whose first three parts are little-endian, and an
// age.
std::string breakpad_id(std::string id) {
  id.resize(32, '0');
  static constexpr std::array<std::size_t, 16> order = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  std::string guid;
  for (const std::size_t position : order) guid += id.substr(2 * position, 2);
  std::transform(guid.begin(), guid.end(), guid.begin(),
                 [](char character) { return character >= 'a' ? static_cast<char>(character - 32) : character; });
  return guid + '0';
}

class firefox {
 public:
  explicit firefox(const profile& profile) : profile_(profile) {}

  std::string file();

 private:
  struct function_key {
    std::size_t name, file, resource;
    auto operator<=>(const function_key&) const = default;
  };
  struct frame_key {
    std::size_t function, category, depth;
    std::int64_t address;
    int line;
    auto operator<=>(const frame_key&) const = default;
  };
  static constexpr std::size_t no_entry = ~std::size_t{0};

  template <class Key>
  static std::pair<std::size_t, bool> number(std::map<Key, std::size_t>& numbers, Key key) {
    const auto [match, is_new] = numbers.try_emplace(std::move(key), numbers.size());
    return {match->second, is_new};
  }
  static json or_null(std::size_t value) { return value == no_entry ? json() : json(value); }

  std::size_t string(const std::string& text);
  std::size_t library(std::size_t module);
  std::size_t function(const std::string& name, const std::string& file, std::size_t resource);
  std::size_t frame(const frame_key& key);
  std::size_t stack(std::size_t frame, std::size_t outer);
  std::size_t stack_of(const sample& sample);
  json track(measure weight, std::uint32_t thread, std::vector<std::size_t> samples, bool is_first);

  const profile& profile_;
  std::map<std::string, std::size_t> strings_;
  std::map<std::size_t, std::size_t> libraries_;  // by module
  std::map<std::size_t, std::size_t> sources_;    // by string
  std::map<function_key, std::size_t> functions_;
  std::map<frame_key, std::size_t> frames_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> stacks_;  // by the outer stack and the frame
  json string_array_ = json::array(), libs_ = json::array();
  json resource_ = {{"name", json::array()}, {"lib", json::array()}, {"host", json::array()}, {"type", json::array()}};
  json source_ = {{"uuid", json::array()}, {"filename", json::array()}};
  json func_ = {{"name", json::array()},        {"isJS", json::array()},   {"relevantForJS", json::array()},
                {"resource", json::array()},    {"source", json::array()}, {"lineNumber", json::array()},
                {"columnNumber", json::array()}};
  json frame_ = {{"address", json::array()},       {"inlineDepth", json::array()}, {"category", json::array()},
                 {"subcategory", json::array()},   {"func", json::array()},        {"nativeSymbol", json::array()},
                 {"innerWindowID", json::array()}, {"line", json::array()},        {"column", json::array()}};
  json stack_ = {{"frame", json::array()}, {"prefix", json::array()}};
  std::vector<std::size_t> stack_of_sample_;
};

std::size_t firefox::string(const std::string& text) {
  const auto [string_number, is_new] = number(strings_, text);
  if (is_new) string_array_.push_back(text);
  return string_number;
}

// The resource and the library of a module have the same number.
std::size_t firefox::library(std::size_t module) {
  if (module == no_module) return no_entry;
  const auto [library_number, is_new] = number(libraries_, module);
  if (is_new) {
    const format::module_facts& facts = profile_.recording().modules[module];
    const std::string name = analyse::file_name(facts.path);
    libs_.push_back({{"arch", ""},
                     {"name", name},
                     {"path", facts.path},
                     {"debugName", name},
                     {"debugPath", facts.path},
                     {"breakpadId", breakpad_id(facts.build_id)},
                     {"codeId", facts.build_id}});
    resource_["name"].push_back(string(name));
    resource_["lib"].push_back(library_number);
    resource_["host"].push_back(nullptr);
    resource_["type"].push_back(1);  // a library
  }
  return library_number;
}

std::size_t firefox::function(const std::string& name, const std::string& file, std::size_t resource) {
  const std::size_t path = file.empty() ? no_entry : string(file);
  const auto [function_number, is_new] = number(functions_, {string(name), path, resource});
  if (is_new) {
    std::size_t source = no_entry;
    if (path != no_entry) {
      const auto [source_number, is_new_file] = number(sources_, path);
      source = source_number;
      if (is_new_file) {
        source_["uuid"].push_back(nullptr);
        source_["filename"].push_back(path);
      }
    }
    func_["name"].push_back(string(name));
    func_["isJS"].push_back(false);
    func_["relevantForJS"].push_back(false);
    func_["resource"].push_back(resource == no_entry ? json(-1) : json(resource));
    func_["source"].push_back(or_null(source));
    func_["lineNumber"].push_back(nullptr);
    func_["columnNumber"].push_back(nullptr);
  }
  return function_number;
}

std::size_t firefox::frame(const frame_key& key) {
  const auto [frame_number, is_new] = number(frames_, key);
  if (is_new) {
    frame_["address"].push_back(key.address);
    frame_["inlineDepth"].push_back(key.depth);
    frame_["category"].push_back(key.category);
    frame_["subcategory"].push_back(0);
    frame_["func"].push_back(key.function);
    frame_["nativeSymbol"].push_back(nullptr);
    frame_["innerWindowID"].push_back(nullptr);
    frame_["line"].push_back(key.line > 0 ? json(key.line) : json());
    frame_["column"].push_back(nullptr);
  }
  return frame_number;
}

std::size_t firefox::stack(std::size_t frame, std::size_t outer) {
  const auto [stack_number, is_new] = number(stacks_, {outer, frame});
  if (is_new) {
    stack_["frame"].push_back(frame);
    stack_["prefix"].push_back(or_null(outer));
  }
  return stack_number;
}

std::size_t firefox::stack_of(const sample& sample) {
  std::size_t stack_number = no_entry;
  const std::vector<std::uint32_t>& locations = profile_.stacks()[sample.site];
  for (auto index = locations.rbegin(); index != locations.rend(); ++index) {
    const location& location = profile_.locations()[*index];
    const std::size_t resource = library(location.module);
    std::size_t depth = 0;  // depth of inlining
    for (auto line = location.lines->rbegin(); line != location.lines->rend(); ++line) {
      const auto address = location.module == no_module ? -1 : static_cast<std::int64_t>(line->offset);
      const std::size_t called = function(frame_name(*line), line->file, resource);
      stack_number = stack(frame({called, 0, depth++, address, line->line}), stack_number);
    }
  }
  if (locations.empty())
    stack_number = stack(frame({function(std::string(no_stack), {}, no_entry), 0, 0, -1, 0}), stack_number);
  return stack(frame({function(leaf_name(sample), {}, no_entry), category_of(sample.category), 0, -1, 0}),
               stack_number);
}

json firefox::track(measure weight, std::uint32_t thread, std::vector<std::size_t> samples, bool is_first) {
  const auto count = [&](std::size_t index) { return profile_.samples()[index].sums[weight]; };
  std::stable_sort(samples.begin(), samples.end(), [&](std::size_t a, std::size_t b) { return count(a) > count(b); });
  json stacks = json::array(), times = json::array(), weights = json::array();
  for (const std::size_t index : samples) {
    times.push_back(stacks.size());
    stacks.push_back(stack_of_sample_[index]);
    weights.push_back(measures[weight].value_unit == unit::nanoseconds ? json(static_cast<double>(count(index)) / 1e6)
                                                                       : json(count(index)));
  }
  const std::size_t length = stacks.size();
  const char* const type = measures[weight].value_unit == unit::bytes         ? "bytes"
                           : measures[weight].value_unit == unit::nanoseconds ? "tracing-ms"
                                                                              : "samples";
  const std::string name = profile_.recording().threads.empty() ? "" : thread_name(profile_.recording(), thread);
  return {{"processType", "default"},
          {"processName", measures[weight].description},
          {"processStartupTime", 0},
          {"processShutdownTime", nullptr},
          {"registerTime", 0},
          {"unregisterTime", nullptr},
          {"pausedRanges", json::array()},
          {"name", name},
          {"isMainThread", is_first},
          {"pid", std::to_string(weight)},
          {"tid", std::to_string(weight) + '.' + std::to_string(thread)},
          {"samples",
           {{"stack", std::move(stacks)},
            {"time", std::move(times)},
            {"weight", std::move(weights)},
            {"weightType", type},
            {"length", length}}},
          {"markers",
           {{"data", json::array()},
            {"name", json::array()},
            {"startTime", json::array()},
            {"endTime", json::array()},
            {"phase", json::array()},
            {"category", json::array()},
            {"length", 0}}}};
}

std::string firefox::file() {
  const format::recording& recording = profile_.recording();
  for (const sample& sample : profile_.samples()) stack_of_sample_.push_back(stack_of(sample));
  json threads = json::array();
  for (const measure weight : profile_.used_measures()) {
    std::map<std::uint32_t, std::vector<std::size_t>> by_thread;
    for (std::size_t index = 0; index < profile_.samples().size(); ++index) {
      const sample& sample = profile_.samples()[index];
      if (sample.sums[weight] != 0) by_thread[sample.thread].push_back(index);
    }
    if (by_thread.empty()) by_thread[0];
    bool is_first = true;
    for (auto& [thread, samples] : by_thread) {
      threads.push_back(track(weight, thread, std::move(samples), std::exchange(is_first, false)));
    }
  }
  json names = json::array();
  for (const category_info& category : categories) {
    names.push_back({{"name", category.name}, {"color", category.colour}, {"subcategories", {"Other"}}});
  }
  resource_["length"] = libraries_.size();
  source_["length"] = sources_.size();
  func_["length"] = functions_.size();
  frame_["length"] = frames_.size();
  stack_["length"] = stacks_.size();
  const json document = {{"meta",
                          {{"interval", 1},
                           {"startTime", static_cast<double>(recording.program.started) * 1e3},
                           {"processType", 0},
                           {"product", program_name(recording)},
                           {"importedFrom", "tarn"},
                           {"platform", "Linux"},
                           {"oscpu", recording.program.machine},
                           {"arguments", program_name(recording)},
                           {"stackwalk", 1},
                           {"version", gecko_version},
                           {"preprocessedProfileVersion", processed_version},
                           {"symbolicated", true},
                           {"categories", std::move(names)},
                           {"markerSchema", json::array()},
                           {"usesOnlyOneStackType", true},
                           {"sourceCodeIsNotOnSearchfox", true}}},
                         {"libs", std::move(libs_)},
                         {"pages", json::array()},
                         {"shared",
                          {{"stackTable", std::move(stack_)},
                           {"frameTable", std::move(frame_)},
                           {"funcTable", std::move(func_)},
                           {"resourceTable", std::move(resource_)},
                           {"nativeSymbols",
                            {{"libIndex", json::array()},
                             {"address", json::array()},
                             {"name", json::array()},
                             {"functionSize", json::array()},
                             {"length", 0}}},
                           {"sources", std::move(source_)},
                           {"stringArray", std::move(string_array_)}}},
                         {"threads", std::move(threads)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string as_firefox(const profile& profile) { return firefox(profile).file(); }

}  // namespace tarn::exports
