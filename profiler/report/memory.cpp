// The section on memory: the sites that hold it at the peak and at the end, and those whose memory keeps growing.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/findings/heap/memory.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

using analyse::memory_findings;
using analyse::memory_site;
using nlohmann::json;

constexpr double min_share = 0.01;  // of the sum; sites below it are left to --json
constexpr std::size_t min_columns = 30;

std::string amount_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// Gives the range of a sum of samples behind it: "206 KiB (23 KiB–2363 KiB)".
std::string amount_in_range(std::uint64_t bytes, const analyse::figure_range& range) {
  if (range.is_exact()) return amount_text(bytes);
  return fmt::format("{} ({}–{})", amount_text(bytes), range.low < 0.5 ? "0" : bytes_text(range.low),
                     bytes_text(range.high));
}
std::string sum_text(std::uint64_t bytes, const analyse::figure_range& range) {
  return (range.is_exact() || bytes == 0 ? "" : "about ") + amount_in_range(bytes, range);
}

// Returns the number of blocks as a text, if they are counted. In a sampled recording it would be uncertain, and the
// number of blocks in use at the end, which is exact, is at the top of the report.
std::string in_blocks(const format::recording& recording, std::uint64_t blocks) {
  return recording.program.interval == 0 ? " in " + count_text(blocks, "block") : "";
}

// Returns the name of the recording's end: the blocks that were still in use then are reported under it.
const char* end_name(const format::recording& recording) {
  const bool has_ended = recording.has_ended && !recording.end.is_running && recording.part == format::interval{};
  return has_ended ? "never freed" : "in use at the end";
}

std::vector<const memory_site*> growing_sites(const memory_findings& memory) {
  std::vector<const memory_site*> sites;
  for (const memory_site& site : memory.sites) {
    if (site.course == analyse::trend::grows) sites.push_back(&site);
  }
  std::sort(sites.begin(), sites.end(),
            [](const auto* a, const auto* b) { return a->bytes_per_second > b->bytes_per_second; });
  return sites;
}

format::leak_facts sum_of(const std::vector<analyse::lost_memory>& lost) {
  format::leak_facts sum;
  for (const analyse::lost_memory& site : lost) {
    sum.blocks += site.facts.blocks;
    sum.bytes += site.facts.bytes;
    sum.first_blocks += site.facts.first_blocks;
  }
  return sum;
}

// Returns the library that the dynamic linker's call initialises, such as the C++ library with its reserve for
// exceptions: the module of the innermost function that the linker called. Empty for another site.
std::string started_library(const analyse::site_view& view) {
  if (view.location() == nullptr || !analyse::file_name(view.location()->module).starts_with("ld-")) return "";
  if (view.frame_index == 0) return "";
  return std::string(analyse::file_name(view.stack[view.frame_index - 1].module));
}

std::string title_of(analyse::analysis& analysis, const analyse::site& site, std::size_t columns) {
  const analyse::site_view view = analysis.view(site);
  if (const std::string library = started_library(view); !library.empty())
    return cut("start-up of " + library, columns);
  return view.location() == nullptr ? "sites beyond the recorder's limit" : location_text(*view.location(), columns);
}

// Returns the function above the deciding one.
std::string caller_of(analyse::analysis& analysis, const analyse::site& site) {
  const analyse::site_view view = analysis.view(site);
  const std::size_t index = view.frame_index + 1;
  return index < view.stack.size() ? location_text(view.stack[index], min_columns) : "no other function";
}

std::string row_text(const memory_site& site, std::uint64_t bytes, std::uint64_t blocks, std::uint64_t sum,
                     double error, const analyse::figure_range& range) {
  constexpr double max_error = 0.5;  // above it the range is not the same on both sides
  const double percent = std::min(100.0 * static_cast<double>(bytes) / static_cast<double>(sum), 100.0);
  std::string text = fmt::format("   {:>9}", error > max_error ? amount_in_range(bytes, range) : amount_text(bytes));
  if (error != 0 && error <= max_error) text += fmt::format(" ± {:>3.0f} %", std::ceil(error * 100));
  // Where it may be nothing, its share tells nothing either.
  text += error != 0 && range.low < 0.5 ? "  too few samples" : fmt::format("  {:>3.0f} %", percent);
  if (error == 0) text += "  " + count_text(blocks, "block");
  if (site.course == analyse::trend::grows) text += fmt::format(", grows by {}/s", bytes_text(site.bytes_per_second));
  return text + "  ";
}

// Prints the sites that hold at least a hundredth of the sum, the most first.
void print_rows(analyse::analysis& analysis, std::size_t top, std::uint64_t analyse::site::*bytes,
                std::uint64_t analyse::site::*blocks, std::uint64_t sum, double memory_site::*error,
                analyse::figure_range memory_site::*range) {
  std::vector<const memory_site*> rows;
  for (const memory_site& site : analysis.memory().sites) {
    if (static_cast<double>(site.origin->*bytes) >= min_share * static_cast<double>(sum) && site.origin->*bytes != 0)
      rows.push_back(&site);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto* a, const auto* b) { return a->origin->*bytes > b->origin->*bytes; });
  rows.resize(std::min(top, rows.size()));
  std::vector<std::string> texts, titles;
  std::vector<std::vector<std::string>> details;
  for (const memory_site* const site : rows) {
    texts.push_back(row_text(*site, site->origin->*bytes, site->origin->*blocks, sum, site->*error, site->*range));
    const std::size_t taken_columns = std::min(texts.back().size(), text_width);
    titles.push_back(title_of(analysis, *site->origin, std::max(text_width - taken_columns, min_columns)));
    details.push_back({analyse::name(site->origin->category), "by " + caller_of(analysis, *site->origin)});
  }
  titles = distinct_titles(std::move(titles), details);
  for (std::size_t index = 0; index < rows.size(); ++index) fmt::print("{}{}\n", texts[index], titles[index]);
}

// Prints how much memory was lost, and the site of most of it.
void print_lost_summary(analyse::analysis& analysis) {
  if (!analysis.recording().has_leaks) return;
  const std::vector<analyse::lost_memory>& lost = analysis.memory().lost;
  if (lost.empty()) return fmt::print("No memory was lost: a pointer reached each block when the program exited.\n");
  const format::leak_facts sum = sum_of(lost);
  fmt::print("{} in {} at the exit, most at {}.\n", paint().bold("Memory lost: " + amount_text(sum.bytes)),
             count_text(sum.blocks, "block"), title_of(analysis, *lost.front().origin, 30));
}

void print_memory_summary(analyse::analysis& analysis) {
  const memory_findings& memory = analysis.memory();
  if (memory.sites.empty() && memory.peak_range.high == 0 && memory.end_range.high == 0) return;
  const format::recording& recording = analysis.recording();
  std::string text;
  if (memory.peak_range.high != 0) {
    text = fmt::format("Heap peak: {}", sum_text(memory.peak_bytes, memory.peak_range));
    if (memory.peak_ns != 0) text += ", " + duration_text(memory.peak_ns) + " after the start";
    if (memory.resident_bytes != 0) text += fmt::format(" (process {})", amount_text(memory.resident_bytes));
    text += recording.program.interval == 0 ? "; " : ";\n        ";
  }
  fmt::print("{}{} {}.\n", text.empty() ? "Heap: " : text, sum_text(memory.end_bytes, memory.end_range),
             end_name(recording));
  if (memory.resident_bytes != 0 && memory.peak_bytes > memory.max_resident_bytes) {
    const bool may_be_too_high = memory.peak_range.low <= static_cast<double>(memory.max_resident_bytes);
    fmt::print("        The process had less in memory: {}.\n",
               may_be_too_high ? "the estimate is too high, or parts were never touched"
                               : "parts of the heap were never touched, or swapped out");
  }
  print_lost_summary(analysis);
  const std::vector<const memory_site*> sites = growing_sites(memory);
  // A run of this length has enough of them, unless the machine had other work.
  constexpr std::uint64_t long_run_us = 600'000;
  const std::size_t snapshots = recording.snapshots.size();
  if (!memory.has_trends && memory.end_bytes != 0 && recording.part == format::interval{} && recording.has_ended &&
      recording.end.wall_us >= long_run_us) {
    fmt::print("Whether memory grows is not known: the recording has {}, and that takes {}.\n",
               count_text(snapshots, "snapshot"), analyse::min_trend_snapshots);
  }
  if (sites.empty()) return;
  const paint style;
  double sum = 0;
  for (const memory_site* const site : sites) sum += site->bytes_per_second;
  fmt::print("{} by about {}/s to the end, at {}, most at {}.\n", style.bold("Memory grows"), bytes_text(sum),
             count_text(sites.size(), "site"), title_of(analysis, *sites.front()->origin, 30));
}

struct named_kind {
  const char* name;
  const char* member;  // of the JSON
  format::memory_kind kind;
};
constexpr std::array kinds = {named_kind{"stacks", "stacks_bytes", format::memory_kind::stacks},
                              named_kind{"program and libraries", "program_bytes", format::memory_kind::program},
                              named_kind{"mapped files", "files_bytes", format::memory_kind::files},
                              named_kind{"shared memory", "shared_memory_bytes", format::memory_kind::shared_memory},
                              named_kind{"the recorder", "recorder_bytes", format::memory_kind::recorder},
                              named_kind{"other mappings", "other_bytes", format::memory_kind::remainder}};

// Prints the use of the process's memory at its largest size, and when it was last measured.
void print_residence(analyse::analysis& analysis) {
  const format::recording& recording = analysis.recording();
  const memory_findings& memory = analysis.memory();
  const format::residence_facts &largest = recording.peak_resident, &last = recording.residence;
  if (largest.sum() == 0) return;
  const std::optional<analyse::heap_residence> heap_at_most = heap_in(largest, memory),
                                               last_heap = heap_in(last, memory);
  const bool is_one_moment = largest.at_ns == last.at_ns;  // a short program was seen once
  const auto print_row = [&](std::string_view name, const std::string& first, const std::string& second) {
    fmt::print("   {:<33} {:>11}{}\n", name, first, is_one_moment ? "" : fmt::format(" {:>14}", second));
  };
  const auto row = [&](std::string_view name, std::uint64_t first, std::uint64_t second) {
    if (first != 0 || second != 0) print_row(name, amount_text(first), amount_text(second));
  };
  const auto time = [](const format::residence_facts& residence) {
    return fmt::format("{:.2f} s", static_cast<double>(residence.at_ns) / 1e9);
  };
  fmt::print("\nMemory of the process {:>25}{}\n", "at " + time(largest),
             is_one_moment ? "" : fmt::format(" {:>14}", "at " + time(last)));
  if (heap_at_most && last_heap) {
    using part = std::uint64_t analyse::heap_residence::*;
    const auto heap_row = [&](std::string_view name, part bytes) {
      row(name, (*heap_at_most).*bytes, (*last_heap).*bytes);
    };
    heap_row("heap: in use", &analyse::heap_residence::in_use);
    heap_row("heap: added by malloc, about", &analyse::heap_residence::rounding);
    heap_row(memory.rounding ? "heap: free, but in memory" : "heap: free or added by malloc",
             &analyse::heap_residence::free);
    const auto absent = [](const analyse::heap_residence& heap) {
      return heap.untouched == 0 ? std::string("0 bytes") : "-" + amount_text(heap.untouched);
    };
    if (heap_at_most->untouched != 0 || last_heap->untouched != 0)
      print_row("heap: minus pages not in memory", absent(*heap_at_most), absent(*last_heap));
  } else {
    row("heap", largest.bytes_of(format::memory_kind::heap), last.bytes_of(format::memory_kind::heap));
  }
  for (const named_kind& kind : kinds) row(kind.name, largest.bytes_of(kind.kind), last.bytes_of(kind.kind));
  row("together", largest.sum(), last.sum());
  row("of these shared with others", largest.shared_bytes, last.shared_bytes);
  row("of these in huge pages", largest.huge_page_bytes, last.huge_page_bytes);
  row("swapped, beside these", largest.swapped_bytes, last.swapped_bytes);
}

json json_of_range(const analyse::figure_range& range) { return {std::floor(range.low), std::ceil(range.high)}; }

json json_of(const format::residence_facts& residence, const memory_findings& memory) {
  if (residence.sum() == 0) return nullptr;
  json heap;
  if (const auto parts = heap_in(residence, memory)) {
    heap = {{"in_use_bytes", parts->in_use},
            {"rounding_bytes", memory.rounding ? json(parts->rounding) : json()},
            {"free_bytes", parts->free},
            {"untouched_bytes", parts->untouched}};
  }
  json text = {{"at_ns", residence.at_ns},
               {"resident_bytes", residence.sum()},
               {"heap_bytes", residence.bytes_of(format::memory_kind::heap)},
               {"heap", heap},
               {"shared_bytes", residence.shared_bytes},
               {"huge_page_bytes", residence.huge_page_bytes},
               {"swapped_bytes", residence.swapped_bytes}};
  for (const named_kind& kind : kinds) text[kind.member] = residence.bytes_of(kind.kind);
  return text;
}

// Prints the sites that lost memory, the most first.
void print_lost(analyse::analysis& analysis, std::size_t top) {
  const std::vector<analyse::lost_memory>& lost = analysis.memory().lost;
  if (lost.empty()) return;
  const format::leak_facts sum = sum_of(lost);
  fmt::print("\nMemory lost: {} in {} that no pointer reached\n", amount_text(sum.bytes),
             count_text(sum.blocks, "block"));
  for (std::size_t index = 0; index < std::min(top, lost.size()); ++index) {
    const auto& [origin, facts] = lost[index];
    std::string text = fmt::format("   {:>9}  {}", amount_text(facts.bytes), count_text(facts.blocks, "block"));
    if (facts.first_blocks < facts.blocks)
      text += fmt::format(", {} of them behind other lost ones", group_digits(facts.blocks - facts.first_blocks));
    text += "  ";
    fmt::print("{}{}\n", text,
               title_of(analysis, *origin, std::max(text_width - std::min(text.size(), text_width), min_columns)));
  }
}

json json_of_lost(analyse::analysis& analysis, std::size_t top) {
  if (!analysis.recording().has_leaks) return nullptr;
  const std::vector<analyse::lost_memory>& lost = analysis.memory().lost;
  json sites = json::array();
  for (std::size_t index = 0; index < std::min(top, lost.size()); ++index) {
    const analyse::site_view view = analysis.view(*lost[index].origin);
    json stack = json::array();
    for (const analyse::code_location& location : view.stack) stack.push_back(json_of_location(location));
    const format::leak_facts& facts = lost[index].facts;
    sites.push_back({{"bytes", facts.bytes},
                     {"blocks", facts.blocks},
                     {"first_blocks", facts.first_blocks},
                     {"stack", stack},
                     {"frame_index", view.frame_index}});
  }
  const format::leak_facts sum = sum_of(lost);
  return {{"bytes", sum.bytes}, {"blocks", sum.blocks}, {"first_blocks", sum.first_blocks}, {"sites", sites}};
}

const char* text_of(analyse::memory_remedy remedy) {
  return remedy == analyse::memory_remedy::shrink ? "reserve the exact size, or shrink_to_fit() once it is filled"
                                                  : "keep one block for equal contents, and share it (interning)";
}

// Returns what the contents of blocks tell to save, without what the dynamic linker's calls allocate, such as the C++
// library's reserve for exceptions: nobody can change that.
std::vector<const analyse::memory_saving*> savings_of(analyse::analysis& analysis, std::size_t top) {
  std::vector<const analyse::memory_saving*> savings;
  for (const analyse::memory_saving& saving : analysis.memory().savings) {
    if (savings.size() == top) break;
    const analyse::site_view view = analysis.view(*saving.origin);
    if (view.location() == nullptr || !analyse::file_name(view.location()->module).starts_with("ld-"))
      savings.push_back(&saving);
  }
  return savings;
}

// Prints what the contents of blocks tell to save of the peak, from a hundredth of it on.
void print_savings(analyse::analysis& analysis, std::size_t top) {
  const memory_findings& memory = analysis.memory();
  const format::contents_facts& looked = analysis.recording().contents;
  if (looked.in_use_bytes == 0 || memory.peak_bytes == 0) return;
  std::vector<const analyse::memory_saving*> rows = savings_of(analysis, top);
  std::erase_if(rows, [&](const analyse::memory_saving* saving) {
    return static_cast<double>(saving->bytes) < min_share * static_cast<double>(memory.peak_bytes);
  });
  fmt::print("\nMemory to save at the peak, by the contents of blocks after {:.2f} s, with {:.0f} % of it in use{}\n",
             static_cast<double>(looked.at_ns) / 1e9,
             100.0 * static_cast<double>(looked.in_use_bytes) / static_cast<double>(memory.peak_bytes),
             rows.empty() ? ": less than 1 %" : "");
  for (const analyse::memory_saving* const saving : rows) {
    const format::site_contents& contents = saving->contents;
    const bool is_shrinking = saving->remedy == analyse::memory_remedy::shrink;
    fmt::print("   {:>9} ({}–{})  {}\n", amount_text(saving->bytes), bytes_text(saving->range.low),
               bytes_text(saving->range.high), title_of(analysis, *saving->origin, text_width - min_columns));
    if (is_shrinking) {
      fmt::print("      never written: the ends of {} of {}\n", group_digits(contents.unwritten_blocks),
                 count_text(contents.blocks, "block"));
    } else {
      fmt::print("      equal to other blocks: {} of {}, with {}\n", group_digits(contents.equal_blocks),
                 count_text(contents.blocks, "block"), count_text(contents.repeated, "repeated content"));
    }
    fmt::print("      → {}\n", text_of(saving->remedy));
  }
}

json json_of_savings(analyse::analysis& analysis, std::size_t top) {
  const format::contents_facts& looked = analysis.recording().contents;
  if (looked.in_use_bytes == 0) return nullptr;
  json sites = json::array();
  for (const analyse::memory_saving* const row : savings_of(analysis, top)) {
    const analyse::memory_saving& saving = *row;
    const analyse::site_view view = analysis.view(*saving.origin);
    json stack = json::array();
    for (const analyse::code_location& location : view.stack) stack.push_back(json_of_location(location));
    const format::site_contents& contents = saving.contents;
    sites.push_back({{"remedy", saving.remedy == analyse::memory_remedy::shrink ? "shrink" : "share"},
                     {"saved_bytes", saving.bytes},
                     {"saved_range", json_of_range(saving.range)},
                     {"blocks", contents.blocks},
                     {"bytes", contents.bytes},
                     {"unwritten_blocks", contents.unwritten_blocks},
                     {"unwritten_bytes", contents.unwritten_bytes},
                     {"equal_blocks", contents.equal_blocks},
                     {"equal_bytes", contents.equal_bytes},
                     {"repeated_contents", contents.repeated},
                     {"stack", stack},
                     {"frame_index", view.frame_index}});
  }
  return {{"at_ns", looked.at_ns}, {"in_use_bytes", looked.in_use_bytes}, {"sites", sites}};
}

void print_memory(analyse::analysis& analysis, std::size_t top) {
  const memory_findings& memory = analysis.memory();
  const format::recording& recording = analysis.recording();
  if (memory.peak_bytes != 0) {
    fmt::print("\nMemory at the peak: {}{}\n", sum_text(memory.peak_bytes, memory.peak_range),
               in_blocks(recording, memory.peak_blocks));
    print_rows(analysis, top, &analyse::site::peak_bytes, &analyse::site::peak_blocks, memory.peak_bytes,
               &memory_site::peak_error, &memory_site::peak_range);
  }
  print_savings(analysis, top);
  if (memory.end_bytes != 0) {
    fmt::print("\nMemory {}: {}{}\n", end_name(recording), sum_text(memory.end_bytes, memory.end_range),
               in_blocks(recording, memory.end_blocks));
    print_rows(analysis, top, &analyse::site::live_bytes, &analyse::site::live, memory.end_bytes,
               &memory_site::live_error, &memory_site::live_range);
  }
  print_lost(analysis, top);
  print_residence(analysis);
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
                     {"peak_error", site.peak_error},
                     {"end_error", site.live_error},
                     {"peak_range", json_of_range(site.peak_range)},
                     {"end_range", json_of_range(site.live_range)},
                     {"trend", analyse::name(site.course)},
                     {"bytes_per_second", site.bytes_per_second},
                     {"stack", stack},
                     {"frame_index", view.frame_index}});
  }
  return {{"peak_bytes", memory.peak_bytes},
          {"peak_blocks", memory.peak_blocks},
          {"peak_ns", memory.peak_ns},
          {"peak_range", json_of_range(memory.peak_range)},
          {"end_range", json_of_range(memory.end_range)},
          {"end_bytes", memory.end_bytes},
          {"end_blocks", memory.end_blocks},
          {"lost", json_of_lost(analysis, top)},
          {"contents", json_of_savings(analysis, top)},
          {"resident_bytes", memory.resident_bytes},
          {"peak_resident", json_of(analysis.recording().peak_resident, memory)},
          {"last_resident", json_of(analysis.recording().residence, memory)},
          {"sites", sites}};
}

}  // namespace

const section memory_section = {"memory", print_memory_summary, print_memory, json_of_memory};

}  // namespace tarn::command
