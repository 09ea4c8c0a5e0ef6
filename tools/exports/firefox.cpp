#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "exports/formats.hpp"

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
constexpr std::array<category_info, 15> categories = {{{"other", "grey"},
                                                       {"transient", "orange"},
                                                       {"shared", "red"},
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
                                                       {"needed", "lightblue"}}};

std::size_t category_of(std::string_view name) {
  const auto found =
      std::find_if(categories.begin(), categories.end(), [&](const auto& each) { return each.name == name; });
  return found == categories.end() ? 0 : static_cast<std::size_t>(found - categories.begin());
}

// Writes a build id as Breakpad does: the first 16 bytes as a GUID, whose first three parts are little-endian, and an
// age.
std::string breakpad_id(std::string id) {
  id.resize(32, '0');
  static constexpr std::array<std::size_t, 16> order = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  std::string made;
  for (const std::size_t each : order) made += id.substr(2 * each, 2);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](char each) { return each >= 'a' ? static_cast<char>(each - 32) : each; });
  return made + '0';
}

class firefox {
 public:
  explicit firefox(const profile& of) : profile_(of) {}

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
  static constexpr std::size_t none = ~std::size_t{0};

  template <class Key>
  static std::pair<std::size_t, bool> number(std::map<Key, std::size_t>& of, Key key) {
    const auto [found, is_new] = of.try_emplace(std::move(key), of.size());
    return {found->second, is_new};
  }
  static json or_null(std::size_t value) { return value == none ? json() : json(value); }

  std::size_t string(const std::string& text);
  std::size_t library(std::size_t module);
  std::size_t function(const std::string& name, const std::string& file, std::size_t resource);
  std::size_t frame(const frame_key& key);
  std::size_t stack(std::size_t frame, std::size_t outer);
  std::size_t stack_of(const sample& one);
  json track(measure which, std::uint32_t thread, std::vector<std::size_t> samples, bool is_first);

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
  const auto [found, is_new] = number(strings_, text);
  if (is_new) string_array_.push_back(text);
  return found;
}

// The resource and the library of a module have the same number.
std::size_t firefox::library(std::size_t module) {
  if (module == no_module) return none;
  const auto [found, is_new] = number(libraries_, module);
  if (is_new) {
    const format::module_facts& facts = profile_.recorded().modules[module];
    const std::string name = file_name(facts.path);
    libs_.push_back({{"arch", ""},
                     {"name", name},
                     {"path", facts.path},
                     {"debugName", name},
                     {"debugPath", facts.path},
                     {"breakpadId", breakpad_id(facts.build_id)},
                     {"codeId", facts.build_id}});
    resource_["name"].push_back(string(name));
    resource_["lib"].push_back(found);
    resource_["host"].push_back(nullptr);
    resource_["type"].push_back(1);  // a library
  }
  return found;
}

std::size_t firefox::function(const std::string& name, const std::string& file, std::size_t resource) {
  const std::size_t path = file.empty() ? none : string(file);
  const auto [found, is_new] = number(functions_, {string(name), path, resource});
  if (is_new) {
    std::size_t source = none;
    if (path != none) {
      const auto [at, is_new_file] = number(sources_, path);
      source = at;
      if (is_new_file) {
        source_["uuid"].push_back(nullptr);
        source_["filename"].push_back(path);
      }
    }
    func_["name"].push_back(string(name));
    func_["isJS"].push_back(false);
    func_["relevantForJS"].push_back(false);
    func_["resource"].push_back(resource == none ? json(-1) : json(resource));
    func_["source"].push_back(or_null(source));
    func_["lineNumber"].push_back(nullptr);
    func_["columnNumber"].push_back(nullptr);
  }
  return found;
}

std::size_t firefox::frame(const frame_key& key) {
  const auto [found, is_new] = number(frames_, key);
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
  return found;
}

std::size_t firefox::stack(std::size_t frame, std::size_t outer) {
  const auto [found, is_new] = number(stacks_, {outer, frame});
  if (is_new) {
    stack_["frame"].push_back(frame);
    stack_["prefix"].push_back(or_null(outer));
  }
  return found;
}

std::size_t firefox::stack_of(const sample& one) {
  std::size_t made = none;
  const std::vector<std::uint32_t>& places = profile_.stacks()[one.site];
  for (auto at = places.rbegin(); at != places.rend(); ++at) {
    const location& here = profile_.locations()[*at];
    const std::size_t resource = library(here.module);
    std::size_t depth = 0;  // depth of inlining
    for (auto each = here.lines->rbegin(); each != here.lines->rend(); ++each) {
      const auto address = here.module == no_module ? -1 : static_cast<std::int64_t>(each->offset);
      const std::size_t called = function(frame_name(*each), each->file, resource);
      made = stack(frame({called, 0, depth++, address, each->line}), made);
    }
  }
  if (places.empty()) made = stack(frame({function(std::string(no_stack), {}, none), 0, 0, -1, 0}), made);
  return stack(frame({function(leaf_name(one), {}, none), category_of(one.category), 0, -1, 0}), made);
}

json firefox::track(measure which, std::uint32_t thread, std::vector<std::size_t> samples, bool is_first) {
  const auto count = [&](std::size_t at) { return profile_.samples()[at].counted[which]; };
  std::stable_sort(samples.begin(), samples.end(), [&](std::size_t a, std::size_t b) { return count(a) > count(b); });
  json stacks = json::array(), times = json::array(), weights = json::array();
  for (const std::size_t at : samples) {
    times.push_back(stacks.size());
    stacks.push_back(stack_of_sample_[at]);
    weights.push_back(measures[which].in == unit::nanoseconds ? json(static_cast<double>(count(at)) / 1e6)
                                                              : json(count(at)));
  }
  const std::size_t length = stacks.size();
  const char* const type = measures[which].in == unit::bytes         ? "bytes"
                           : measures[which].in == unit::nanoseconds ? "tracing-ms"
                                                                     : "samples";
  const std::string name = profile_.recorded().threads.empty() ? "" : thread_name(profile_.recorded(), thread);
  return {{"processType", "default"},
          {"processName", measures[which].words},
          {"processStartupTime", 0},
          {"processShutdownTime", nullptr},
          {"registerTime", 0},
          {"unregisterTime", nullptr},
          {"pausedRanges", json::array()},
          {"name", name},
          {"isMainThread", is_first},
          {"pid", std::to_string(which)},
          {"tid", std::to_string(which) + '.' + std::to_string(thread)},
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
  const format::recording& in = profile_.recorded();
  for (const sample& each : profile_.samples()) stack_of_sample_.push_back(stack_of(each));
  json threads = json::array();
  for (const measure which : profile_.used()) {
    std::map<std::uint32_t, std::vector<std::size_t>> by_thread;
    for (std::size_t at = 0; at < profile_.samples().size(); ++at) {
      const sample& each = profile_.samples()[at];
      if (each.counted[which] != 0) by_thread[each.thread].push_back(at);
    }
    if (by_thread.empty()) by_thread[0];
    bool is_first = true;
    for (auto& [thread, samples] : by_thread) {
      threads.push_back(track(which, thread, std::move(samples), std::exchange(is_first, false)));
    }
  }
  json names = json::array();
  for (const category_info& each : categories) {
    names.push_back({{"name", each.name}, {"color", each.colour}, {"subcategories", {"Other"}}});
  }
  resource_["length"] = libraries_.size();
  source_["length"] = sources_.size();
  func_["length"] = functions_.size();
  frame_["length"] = frames_.size();
  stack_["length"] = stacks_.size();
  const json all = {{"meta",
                     {{"interval", 1},
                      {"startTime", static_cast<double>(in.program.started) * 1e3},
                      {"processType", 0},
                      {"product", program_name(in)},
                      {"importedFrom", "tarn"},
                      {"platform", "Linux"},
                      {"oscpu", in.program.machine},
                      {"arguments", program_name(in)},
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
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string as_firefox(const profile& of) { return firefox(of).file(); }

}  // namespace tarn::exports
