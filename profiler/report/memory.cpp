// The section on memory: which sites hold it at the peak and at the end, and which hold ever more.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/findings/memory.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::memory_findings;
using analyse::memory_site;
using nlohmann::json;

constexpr double least_share = 0.01;  // of the sum; sites below it are left to --json
constexpr std::size_t least_columns = 30;

std::string amount_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// Says what the blocks are that were in use when the recording ended.
const char* end_name(const format::recording& recording) {
  const bool has_ended = recording.ended && !recording.end.is_running && recording.part == format::interval{};
  return has_ended ? "never freed" : "in use at the end";
}

std::vector<const memory_site*> growing(const memory_findings& memory) {
  std::vector<const memory_site*> sites;
  for (const memory_site& site : memory.sites) {
    if (site.course == analyse::trend::grows) sites.push_back(&site);
  }
  std::sort(sites.begin(), sites.end(),
            [](const auto* a, const auto* b) { return a->bytes_per_second > b->bytes_per_second; });
  return sites;
}

std::string place_of(analyse::analysis& analysis, const memory_site& site, std::size_t columns) {
  const analyse::site_view view = analysis.view(*site.origin);
  return view.location() == nullptr ? "sites beyond the recorder's limit" : place_text(*view.location(), columns);
}

std::string row_text(analyse::analysis& analysis, const memory_site& site, std::uint64_t bytes, std::uint64_t blocks,
                     std::uint64_t sum, double error) {
  std::string text =
      fmt::format("   {:>9}  {:>3.0f} %  {}", amount_text(bytes),
                  100.0 * static_cast<double>(bytes) / static_cast<double>(sum), counted(blocks, "block"));
  if (error != 0) text += fmt::format(" ± {:.0f} %", std::ceil(std::min(error, 1.0) * 100));
  if (site.course == analyse::trend::grows) text += fmt::format(", grows by {}/s", bytes_text(site.bytes_per_second));
  text += "  ";
  return text + place_of(analysis, site, std::max(text_width - std::min(text.size(), text_width), least_columns));
}

// Prints the sites that hold at least a hundredth of the sum, the most first.
void print_rows(analyse::analysis& analysis, std::size_t top, std::uint64_t analyse::site::*bytes,
                std::uint64_t analyse::site::*blocks, std::uint64_t sum, bool has_error) {
  std::vector<const memory_site*> rows;
  for (const memory_site& site : analysis.memory().sites) {
    if (static_cast<double>(site.origin->*bytes) >= least_share * static_cast<double>(sum) && site.origin->*bytes != 0)
      rows.push_back(&site);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto* a, const auto* b) { return a->origin->*bytes > b->origin->*bytes; });
  for (std::size_t index = 0; index < std::min(top, rows.size()); ++index) {
    const memory_site& site = *rows[index];
    fmt::print("{}\n", row_text(analysis, site, site.origin->*bytes, site.origin->*blocks, sum,
                                has_error ? site.live_error : 0));
  }
}

void print_memory_summary(analyse::analysis& analysis) {
  const memory_findings& memory = analysis.memory();
  if (memory.sites.empty()) return;
  std::string text;
  if (memory.peak_bytes != 0) {
    text = fmt::format("the heap held at most {}", amount_text(memory.peak_bytes));
    if (memory.peak_ns != 0) text += fmt::format(", after {:.2f} s", static_cast<double>(memory.peak_ns) / 1e9);
    if (memory.resident_bytes != 0) text += fmt::format(" (process {})", amount_text(memory.resident_bytes));
    text += "; ";
  }
  fmt::print("Memory: {}{} {}.\n", text, amount_text(memory.end_bytes), end_name(analysis.recorded()));
  const std::vector<const memory_site*> sites = growing(memory);
  if (sites.empty()) return;
  const paint style;
  double sum = 0;
  for (const memory_site* const site : sites) sum += site->bytes_per_second;
  fmt::print("{} by about {}/s to the end, at {}, most at {}.\n", style.bold("Memory grows"), bytes_text(sum),
             counted(sites.size(), "site"), place_of(analysis, *sites.front(), 30));
}

void print_memory(analyse::analysis& analysis, std::size_t top) {
  const memory_findings& memory = analysis.memory();
  if (memory.peak_bytes != 0) {
    fmt::print("\nMemory at the peak: {} in {}\n", amount_text(memory.peak_bytes),
               counted(memory.peak_blocks, "block"));
    print_rows(analysis, top, &analyse::site::peak_bytes, &analyse::site::peak_blocks, memory.peak_bytes, false);
  }
  if (memory.end_bytes != 0) {
    fmt::print("\nMemory {}: {} in {}\n", end_name(analysis.recorded()), amount_text(memory.end_bytes),
               counted(memory.end_blocks, "block"));
    print_rows(analysis, top, &analyse::site::live_bytes, &analyse::site::live, memory.end_bytes, true);
  }
}

json json_of_memory(analyse::analysis& analysis, std::size_t top) {
  const memory_findings& memory = analysis.memory();
  json sites = json::array();
  for (std::size_t index = 0; index < std::min(top, memory.sites.size()); ++index) {
    const memory_site& site = memory.sites[index];
    const analyse::site_view view = analysis.view(*site.origin);
    json stack = json::array();
    for (const analyse::code_location& location : view.stack) stack.push_back(json_of_location(location));
    sites.push_back({{"peak_bytes", site.origin->peak_bytes},
                     {"peak_blocks", site.origin->peak_blocks},
                     {"end_bytes", site.origin->live_bytes},
                     {"end_blocks", site.origin->live},
                     {"end_error", site.live_error},
                     {"trend", analyse::name(site.course)},
                     {"bytes_per_second", site.bytes_per_second},
                     {"stack", stack},
                     {"place", view.frame_index}});
  }
  return {{"peak_bytes", memory.peak_bytes},
          {"peak_blocks", memory.peak_blocks},
          {"peak_ns", memory.peak_ns},
          {"end_bytes", memory.end_bytes},
          {"end_blocks", memory.end_blocks},
          {"resident_bytes", memory.resident_bytes},
          {"sites", sites}};
}

}  // namespace

const section memory_section = {"memory", print_memory_summary, print_memory, json_of_memory};

}  // namespace tarn::command
