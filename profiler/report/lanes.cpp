// The section on lanes: what each thread did, and when.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::lane;
using analyse::lane_state;
using nlohmann::json;

constexpr std::size_t max_json_lanes = 500;
constexpr std::array states = {lane_state::running, lane_state::runnable, lane_state::lock,   lane_state::kernel,
                               lane_state::sleep,   lane_state::idle,     lane_state::unknown};

double lane_share(const lane& lane, lane_state state) {
  return static_cast<double>(lane.sum(state)) / static_cast<double>(std::max<std::uint64_t>(lane.lifetime_ns(), 1));
}

bool has_unknown_state(const lane& lane) { return lane_share(lane, lane_state::unknown) >= 0.005; }

// Adds up all lanes from `first` on.
lane sum_from(const std::vector<lane>& lanes, std::size_t first) {
  lane sum;
  for (std::size_t index = first; index < lanes.size(); ++index) {
    for (std::size_t state = 0; state < sum.sums.size(); ++state) sum.sums[state] += lanes[index].sums[state];
  }
  return sum;
}

void print_lane(const lane& lane, bool shows_unknown, const std::string& subject) {
  fmt::print("   {:>8.2f} s", static_cast<double>(lane.sum(lane_state::running)) * 1e-9);
  for (const lane_state state : states) {
    if (state == lane_state::unknown && !shows_unknown) continue;
    fmt::print(" {:>{}.0f} %", 100 * lane_share(lane, state), state == lane_state::running ? 3 : 6);
  }
  fmt::print("  {}\n", cut(subject, text_width - (shows_unknown ? 75 : 66)));
}

void print_lanes_summary(analyse::analysis&) {}

void print_lanes(analyse::analysis& analysis, std::size_t top) {
  const std::vector<lane>& lanes = analysis.lanes().lanes;
  if (lanes.empty()) return;
  const std::vector<format::thread_facts>& threads = analysis.recording().threads;
  const bool shows_unknown = std::any_of(lanes.begin(), lanes.end(), has_unknown_state);
  fmt::print("\nThreads     running runnable     lock   kernel    sleep     idle{}\n",
             shows_unknown ? "  unknown" : "");
  const std::size_t rows = std::min(top, lanes.size());
  for (std::size_t index = 0; index < rows; ++index) {
    const format::thread_facts& thread = threads[lanes[index].thread];
    print_lane(
        lanes[index], shows_unknown,
        thread.name.empty() ? fmt::format("thread {}", thread.id) : fmt::format("{} {}", thread.id, thread.name));
  }
  if (lanes.size() > rows)
    print_lane(sum_from(lanes, rows), shows_unknown, count_text(lanes.size() - rows, "more thread") + "; --top N");
}

json json_of_sums(const lane& lane) {
  json sums = json::object();
  for (const lane_state state : states) sums[std::string(analyse::name(state)) + "_ns"] = lane.sum(state);
  return sums;
}

json json_of_lanes(analyse::analysis& analysis, std::size_t top) {
  const analyse::lane_findings& findings = analysis.lanes();
  if (findings.lanes.empty()) return nullptr;
  const std::size_t rows = std::min({top, max_json_lanes, findings.lanes.size()});
  json threads = json::array();
  for (std::size_t index = 0; index < rows; ++index) {
    const lane& lane = findings.lanes[index];
    json row = json_of_sums(lane), parts = json::array();
    row["thread"] = lane.thread;
    for (const analyse::lane_part& part : lane.parts) {
      json intervals = json::array(), interval_ns = json::array();
      for (const auto& [interval, ns] : part.intervals) {
        intervals.push_back(interval);
        interval_ns.push_back(ns);
      }
      parts.push_back({{"state", analyse::name(part.state)},
                       {"call", part.call},
                       {"holder", part.holder ? json(*part.holder) : json(nullptr)},
                       {"stack", part.site == 0 ? json::array() : json_of_stack(analysis, part.site)},
                       {"ns", part.ns},
                       {"intervals", std::move(intervals)},
                       {"interval_ns", std::move(interval_ns)}});
    }
    row["activities"] = std::move(parts);
    threads.push_back(std::move(row));
  }
  json others = json_of_sums(sum_from(findings.lanes, rows));
  others["threads"] = findings.lanes.size() - rows;
  return {{"to_ns", findings.ends_ns}, {"threads", std::move(threads)}, {"others", std::move(others)}};
}

}  // namespace

const section lanes_section = {"lanes", print_lanes_summary, print_lanes, json_of_lanes};

}  // namespace tarn::command
