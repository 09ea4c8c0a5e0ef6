#include "tarn/top_heaps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

#include "exports/profile.hpp"
#include "tarn/thread_names.hpp"
#include "tarn/top_numbers.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

using analyse::live_column;
using analyse::live_row;
using analyse::live_unit;

constexpr std::array heap_columns = {
    live_column{"used", live_unit::bytes, false},     live_column{"held", live_unit::bytes, false},
    live_column{"peak", live_unit::bytes, false},     live_column{"foreign/s", live_unit::count, true},
    live_column{"refills/s", live_unit::count, true}, live_column{"allocs/s", live_unit::count, true},
    live_column{"bytes/s", live_unit::bytes, true}};
constexpr std::array names = {"heaps"};
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::string top_heaps::title() const {
  std::ifstream file(fmt::format("/proc/{}/cmdline", process_), std::ios::binary);
  std::string title;
  for (std::string each; std::getline(file, each, '\0');)
    title += title.empty() ? exports::file_name(each) : " " + each;
  return title;
}

void top_heaps::look(double seconds) {
  std::vector<heap_facts> now = heaps_.look();
  std::erase_if(now, [](const heap_facts& each) { return !each.was_used; });
  if (now.empty() && !now_.empty()) return;  // it has ended: keep the last state
  seconds_ = now_.empty() ? 0 : std::max(seconds, 1e-3);
  before_.clear();
  for (const heap_facts& each : now_) before_[each.address] = each.statistics;
  now_ = std::move(now);
}

std::span<const char* const> top_heaps::views() const { return names; }
std::span<const live_column> top_heaps::columns(std::size_t) const { return heap_columns; }

std::string top_heaps::owner_words(const heap_facts& of) {
  if (!of.name.empty()) return printable(of.name);
  if (of.thread == 0) return "threads that ended";
  std::string& name = names_[of.thread];
  if (const std::string seen = thread_name(static_cast<std::uint64_t>(process_), of.thread); !seen.empty()) name = seen;
  return printable(fmt::format("{} {}", name.empty() ? "thread" : name, of.thread));
}

std::vector<live_row> top_heaps::rows(std::size_t, bool totals) {
  std::vector<live_row> all;
  for (const heap_facts& each : now_) {
    const heap_statistics& now = each.statistics;
    const auto old = before_.find(each.address);
    const heap_statistics from = totals || old == before_.end() ? heap_statistics() : old->second;
    const auto rate = [&](std::uint64_t heap_statistics::*of) {
      if (totals) return static_cast<double>(now.*of);
      return seconds_ == 0 ? 0 : static_cast<double>(now.*of - std::min(now.*of, from.*of)) / seconds_;
    };
    live_row& row = all.emplace_back();
    row.what = owner_words(each);
    row.values = {static_cast<double>(now.used_bytes),
                  static_cast<double>(now.footprint_bytes),
                  static_cast<double>(now.peak_footprint_bytes),
                  rate(&heap_statistics::remote_frees),
                  rate(&heap_statistics::refills),
                  each.counts_calls ? rate(&heap_statistics::allocated_blocks) : unknown,
                  each.counts_calls ? rate(&heap_statistics::allocated_bytes) : unknown};
  }
  return all;
}

std::string top_heaps::words_of(std::size_t, const live_row& row) { return row.what; }

std::vector<std::string> top_heaps::sums(bool, const char*) const {
  heap_statistics all;
  bool counts = false;
  for (const heap_facts& each : now_) {
    all += each.statistics;
    counts = counts || each.counts_calls;
  }
  return {
      fmt::format("{} heaps use {} of {} that they hold", now_.size(), bytes_words(static_cast<double>(all.used_bytes)),
                  bytes_words(static_cast<double>(all.footprint_bytes))),
      counts ? "" : "allocations are not counted: tarn run --stats, or tarn top -- PROGRAM, which records"};
}

}  // namespace tarn::command
