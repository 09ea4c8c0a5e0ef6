#include "analyse/live.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyse/findings.hpp"
#include "analyse/locks.hpp"
#include "analyse/syscalls.hpp"

namespace tarn::analyse {
namespace {

using format::recording;

constexpr std::array thread_columns = {
    live_column{"allocs/s", live_unit::count, true},         live_column{"bytes/s", live_unit::bytes, true},
    live_column{"frees/s", live_unit::count, true},          live_column{"foreign/s", live_unit::count, true},
    live_column{"wait ms/s", live_unit::milliseconds, true}, live_column{"calls/s", live_unit::count, true},
    live_column{"call ms/s", live_unit::milliseconds, true}};
constexpr std::array site_columns = {
    live_column{"allocs/s", live_unit::count, true}, live_column{"bytes/s", live_unit::bytes, true},
    live_column{"foreign/s", live_unit::count, true}, live_column{"in use", live_unit::count, false}};
constexpr std::array lock_columns = {
    live_column{"wait ms/s", live_unit::milliseconds, true}, live_column{"waits/s", live_unit::count, true},
    live_column{"taken/s", live_unit::count, true}, live_column{"held ms/s", live_unit::milliseconds, true}};
constexpr std::array call_columns = {
    live_column{"calls/s", live_unit::count, true}, live_column{"call ms/s", live_unit::milliseconds, true},
    live_column{"bytes/s", live_unit::bytes, true}, live_column{"errors/s", live_unit::count, true}};

// Passes on the counts of `now` minus those of `before`. An estimate may decrease a little: then the difference is 0.
template <class Key, class Counts, class Take>
void for_changes(const std::map<Key, Counts>& before, const std::map<Key, Counts>& now, Take take) {
  for (const auto& [key, value] : now) {
    const auto old = before.find(key);
    Counts change = value;
    if (old != before.end()) {
      for (std::size_t at = 0; at < change.size(); ++at) change[at] -= std::min(change[at], old->second[at]);
    }
    take(key, change);
  }
}

double milliseconds(const recording& in, std::uint64_t ticks) {
  return static_cast<double>(format::nanoseconds(in.clock, ticks)) / 1e6;
}

std::vector<live_row> thread_rows(const recording& before, const recording& now) {
  std::vector<live_row> rows(now.threads.size());
  const bool is_sampled = now.program.mode == "sampled";
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const format::thread_facts& each = now.threads[at];
    const format::thread_facts old = at < before.threads.size() ? before.threads[at] : format::thread_facts();
    rows[at].what = (each.name.empty() ? "thread" : each.name) + " " + std::to_string(each.id);
    rows[at].values[0] = static_cast<double>(each.allocations - std::min(each.allocations, old.allocations));
    if (is_sampled) rows[at].values[1] = static_cast<double>(each.bytes - std::min(each.bytes, old.bytes));
    rows[at].values[2] = static_cast<double>(each.frees - std::min(each.frees, old.frees));
  }
  for_changes(before.cells, now.cells, [&](const format::cell_key_facts& key, const format::counts& change) {
    if (!is_sampled) rows[key.owner].values[1] += static_cast<double>(change[format::bytes]);
    if (key.owner != key.actor) rows[key.actor].values[3] += static_cast<double>(change[format::frees]);
  });
  for_changes(before.lockings, now.lockings, [&](const format::lock_key& key, const format::lock_counts& change) {
    if (now.locks[key.lock].type == format::lock_type::condition) return;  // its purpose is to be waited for
    rows[key.thread].values[4] += milliseconds(now, change[format::wait_ticks]);
  });
  for_changes(before.calls, now.calls, [&](const format::call_key& key, const format::call_counts& change) {
    rows[key.thread].values[5] += static_cast<double>(change[format::calls]);
    rows[key.thread].values[6] += milliseconds(now, change[format::call_ticks]);
  });
  return rows;
}

std::vector<live_row> site_rows(const recording& before, const recording& now) {
  std::vector<live_row> rows;
  std::map<std::uint32_t, std::size_t> place;  // by site
  for (const site& each : find(now).sites) {
    place[each.number] = rows.size();
    live_row& row = rows.emplace_back();
    row.site = each.number;
    row.category = name(each.is);
    row.values[3] = static_cast<double>(each.live);
  }
  for_changes(before.cells, now.cells, [&](const format::cell_key_facts& key, const format::counts& change) {
    live_row& row = rows[place[key.site]];
    row.values[0] += static_cast<double>(change[format::blocks]);
    row.values[1] += static_cast<double>(change[format::bytes]);
    if (key.owner != key.actor) row.values[2] += static_cast<double>(change[format::frees]);
  });
  return rows;
}

std::vector<live_row> lock_rows(const recording& before, const recording& now) {
  std::vector<live_row> rows;
  std::map<std::pair<format::lock_type, std::uint32_t>, std::size_t> place;  // by type and the site of the first use
  for (const lock_group& each : find_locks(now).groups) {
    place[{each.type, each.first_site}] = rows.size();
    live_row& row = rows.emplace_back();
    row.what = name(each.type);
    row.site = each.first_site;
    row.category = name(each.is);
  }
  for_changes(before.lockings, now.lockings, [&](const format::lock_key& key, const format::lock_counts& change) {
    const format::lock_facts& lock = now.locks[key.lock];
    const auto at = place.find({lock.type, lock.site});
    if (at == place.end()) return;
    std::array<double, most_live_columns>& to = rows[at->second].values;
    to[0] += milliseconds(now, change[format::wait_ticks]);
    to[1] += static_cast<double>(change[format::contended]);
    to[2] += static_cast<double>(change[format::acquisitions]);
    to[3] += milliseconds(now, change[format::held_ticks]);
  });
  return rows;
}

std::vector<live_row> call_rows(const recording& before, const recording& now) {
  std::vector<live_row> rows;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> place;  // by site and number
  for (const call_site& each : find_calls(now).sites) {
    place[{each.site, each.number}] = rows.size();
    live_row& row = rows.emplace_back();
    row.what = each.name;
    row.site = each.site;
    row.category = name(each.is);
  }
  for_changes(before.calls, now.calls, [&](const format::call_key& key, const format::call_counts& change) {
    const auto at = place.find({key.site, key.number});
    if (at == place.end()) return;
    std::array<double, most_live_columns>& to = rows[at->second].values;
    to[0] += static_cast<double>(change[format::calls]);
    to[1] += milliseconds(now, change[format::call_ticks]);
    to[2] += static_cast<double>(change[format::given]);
    to[3] += static_cast<double>(change[format::errors]);
  });
  return rows;
}

}  // namespace

const char* name(live_view of) {
  switch (of) {
    case live_view::threads: return "threads";
    case live_view::sites: return "sites";
    case live_view::locks: return "locks";
    case live_view::calls: return "calls";
  }
  return "";
}

std::span<const live_column> columns_of(live_view of) {
  switch (of) {
    case live_view::threads: return thread_columns;
    case live_view::sites: return site_columns;
    case live_view::locks: return lock_columns;
    case live_view::calls: return call_columns;
  }
  return {};
}

std::vector<live_row> live_rows(live_view of, const recording& before, const recording& now, double seconds) {
  std::vector<live_row> rows = of == live_view::threads ? thread_rows(before, now)
                               : of == live_view::sites ? site_rows(before, now)
                               : of == live_view::locks ? lock_rows(before, now)
                                                        : call_rows(before, now);
  const std::span<const live_column> columns = columns_of(of);
  for (live_row& each : rows) {
    for (std::size_t at = 0; at < columns.size(); ++at) {
      if (columns[at].is_rate) each.values[at] /= seconds;
    }
  }
  return rows;
}

live_totals totals_of(const recording& before, const recording& now, double seconds) {
  live_totals all;
  for (const live_row& each : live_rows(live_view::threads, before, now, seconds)) {
    all.allocations += each.values[0];
    all.bytes += each.values[1];
    all.frees += each.values[2];
    all.foreign_frees += each.values[3];
    all.wait_ms += each.values[4];
    all.calls += each.values[5];
    all.call_ms += each.values[6];
  }
  const heap_findings heap = find(now);
  all.in_use = heap.live;
  std::map<std::uint32_t, category> categories;
  for (const site& each : heap.sites) categories[each.number] = each.is;
  for_changes(before.cells, now.cells, [&](const format::cell_key_facts& key, const format::counts& change) {
    all.by_category[static_cast<std::size_t>(categories[key.site])] +=
        static_cast<double>(change[format::blocks]) / seconds;
  });
  return all;
}

}  // namespace tarn::analyse
