#include "profiler/top/heaps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

#include "profiler/collect/thread_names.hpp"
#include "profiler/report/values.hpp"
#include "profiler/symbols/names.hpp"
#include "profiler/top/numbers.hpp"

namespace tarn::command {
namespace {

using analyse::live_column;
using analyse::live_row;
using analyse::live_unit;

constexpr std::array heap_columns = {
    live_column{"used", live_unit::bytes, false},        live_column{"mapped", live_unit::bytes, false},
    live_column{"most mapped", live_unit::bytes, false}, live_column{"remote/s", live_unit::count, true},
    live_column{"refills/s", live_unit::count, true},    live_column{"allocs/s", live_unit::count, true},
    live_column{"bytes/s", live_unit::bytes, true}};
constexpr std::array view_names = {"heaps"};
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::string top_heaps::title() const {
  std::ifstream file(fmt::format("/proc/{}/cmdline", process_), std::ios::binary);
  std::string title;
  for (std::string argument; std::getline(file, argument, '\0');)
    title += title.empty() ? analyse::file_name(argument) : " " + argument;
  return title;
}

void top_heaps::look(double seconds) {
  std::vector<heap_facts> now = heaps_.read();
  std::erase_if(now, [](const heap_facts& heap) { return !heap.was_used; });
  if (now.empty() && !now_.empty()) return;  // it has ended: keep the last state
  seconds_ = now_.empty() ? 0 : std::max(seconds, 1e-3);
  before_.clear();
  for (const heap_facts& heap : now_) before_[heap.address] = heap.statistics;
  now_ = std::move(now);
  waiting_bytes_ = heaps_.waiting_bytes();
}

std::span<const char* const> top_heaps::views() const { return view_names; }
std::span<const live_column> top_heaps::columns(std::size_t) const { return heap_columns; }

std::string top_heaps::owner_text(const heap_facts& heap) {
  if (!heap.name.empty()) return printable(heap.name);
  if (heap.thread == 0) return "threads that ended";
  std::string& name = names_[heap.thread];
  if (const std::string current_name = thread_name(static_cast<std::uint64_t>(process_), heap.thread);
      !current_name.empty())
    name = current_name;
  return printable(fmt::format("{} {}", name.empty() ? "thread" : name, heap.thread));
}

std::vector<live_row> top_heaps::rows(std::size_t, bool shows_totals) {
  std::vector<live_row> table_rows;
  for (const heap_facts& heap : now_) {
    const heap_statistics& now = heap.statistics;
    const auto old = before_.find(heap.address);
    const heap_statistics previous = shows_totals || old == before_.end() ? heap_statistics() : old->second;
    const auto rate = [&](std::uint64_t heap_statistics::*counter) {
      if (shows_totals) return static_cast<double>(now.*counter);
      return seconds_ == 0 ? 0
                           : static_cast<double>(now.*counter - std::min(now.*counter, previous.*counter)) / seconds_;
    };
    live_row& row = table_rows.emplace_back();
    row.subject = owner_text(heap);
    row.values = {static_cast<double>(now.used_bytes),
                  static_cast<double>(now.footprint_bytes),
                  static_cast<double>(now.peak_footprint_bytes),
                  rate(&heap_statistics::remote_frees),
                  rate(&heap_statistics::refills),
                  heap.counts_calls ? rate(&heap_statistics::allocated_blocks) : unknown,
                  heap.counts_calls ? rate(&heap_statistics::allocated_bytes) : unknown};
  }
  return table_rows;
}

std::string top_heaps::text_of(std::size_t, const live_row& row) { return row.subject; }

std::vector<std::string> top_heaps::sums(bool, const char*) const {
  heap_statistics sum;
  bool counts_calls = false;
  for (const heap_facts& heap : now_) {
    sum += heap.statistics;
    counts_calls = counts_calls || heap.counts_calls;
  }
  return {fmt::format("{}: {} in use of {} mapped", count_text(now_.size(), "heap"),
                      bytes_text(static_cast<double>(sum.used_bytes - std::min(sum.used_bytes, waiting_bytes_))),
                      bytes_text(static_cast<double>(sum.footprint_bytes))),
          counts_calls ? "" : "allocations are not counted; use tarn run --stats, or tarn top -- PROGRAM"};
}

}  // namespace tarn::command
