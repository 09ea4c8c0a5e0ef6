#include "profiler/findings/live.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "profiler/findings/heap/findings.hpp"
#include "profiler/findings/waits/awaited_locks.hpp"
#include "profiler/findings/waits/call_names.hpp"
#include "profiler/findings/waits/locks.hpp"
#include "profiler/findings/waits/system_calls.hpp"

namespace tarn::analyse {
namespace {

using format::recording;

constexpr std::array thread_columns = {
    live_column{"allocs/s", live_unit::count, true},         live_column{"bytes/s", live_unit::bytes, true},
    live_column{"frees/s", live_unit::count, true},          live_column{"remote/s", live_unit::count, true},
    live_column{"wait ms/s", live_unit::milliseconds, true}, live_column{"calls/s", live_unit::count, true},
    live_column{"call ms/s", live_unit::milliseconds, true}};
constexpr std::array site_columns = {
    live_column{"allocs/s", live_unit::count, true}, live_column{"bytes/s", live_unit::bytes, true},
    live_column{"remote/s", live_unit::count, true}, live_column{"in use", live_unit::count, false}};
constexpr std::array lock_columns = {
    live_column{"wait ms/s", live_unit::milliseconds, true}, live_column{"waits/s", live_unit::count, true},
    live_column{"taken/s", live_unit::count, true}, live_column{"held ms/s", live_unit::milliseconds, true}};
constexpr std::array call_columns = {
    live_column{"calls/s", live_unit::count, true}, live_column{"call ms/s", live_unit::milliseconds, true},
    live_column{"bytes/s", live_unit::bytes, true}, live_column{"errors/s", live_unit::count, true},
    live_column{"pending ms", live_unit::milliseconds, false}};

// Passes on the counts of `now` minus those of `before`. An estimate may decrease a little: then the difference is 0.
template <class Key, class Counts, class Take>
void for_changes(const format::cell_table<Key, Counts>& before, const format::cell_table<Key, Counts>& now, Take take) {
  for (const auto& [key, value] : now) {
    const auto old = before.find(key);
    Counts change = value;
    if (old != before.end()) {
      for (std::size_t index = 0; index < change.size(); ++index)
        change[index] -= std::min(change[index], old->second[index]);
    }
    take(key, change);
  }
}

double milliseconds(const recording& recording, std::uint64_t ticks) {
  return static_cast<double>(format::nanoseconds(recording.clock, ticks)) / 1e6;
}

std::vector<live_row> thread_rows(const recording& before, const recording& now) {
  std::vector<live_row> rows(now.threads.size());
  const bool is_sampled = now.program.mode == "sampled";
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const format::thread_facts& thread = now.threads[index];
    const format::thread_facts old = index < before.threads.size() ? before.threads[index] : format::thread_facts();
    rows[index].subject = (thread.name.empty() ? "thread" : thread.name) + " " + std::to_string(thread.id);
    rows[index].values[0] = static_cast<double>(thread.allocations - std::min(thread.allocations, old.allocations));
    if (is_sampled) rows[index].values[1] = static_cast<double>(thread.bytes - std::min(thread.bytes, old.bytes));
    rows[index].values[2] = static_cast<double>(thread.frees - std::min(thread.frees, old.frees));
  }
  for_changes(before.cells, now.cells, [&](const format::heap_key& key, const format::heap_counts& change) {
    if (!is_sampled) rows[key.owner].values[1] += static_cast<double>(change[format::bytes]);
    if (key.owner != key.actor) rows[key.actor].values[3] += static_cast<double>(change[format::frees]);
  });
  const awaited_locks awaited(now);
  for_changes(before.acquisitions, now.acquisitions,
              [&](const format::lock_key& key, const format::lock_counts& change) {
                if (awaited.has(key.lock)) return;
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
  std::map<std::uint32_t, std::size_t> row_index;  // by site
  for (const site& site : find(now).sites) {
    row_index[site.number] = rows.size();
    live_row& row = rows.emplace_back();
    row.site = site.number;
    row.category = name(site.category);
    row.values[3] = static_cast<double>(site.live);
  }
  for_changes(before.cells, now.cells, [&](const format::heap_key& key, const format::heap_counts& change) {
    live_row& row = rows[row_index[key.site]];
    row.values[0] += static_cast<double>(change[format::blocks]);
    row.values[1] += static_cast<double>(change[format::bytes]);
    if (key.owner != key.actor) row.values[2] += static_cast<double>(change[format::frees]);
  });
  return rows;
}

std::vector<live_row> lock_rows(const recording& before, const recording& now) {
  std::vector<live_row> rows;
  std::map<std::pair<format::lock_type, std::uint32_t>, std::size_t>
      row_index;  // by type and the site of the first use
  for (const lock_group& group : find_locks(now).groups) {
    row_index[{group.type, group.first_site}] = rows.size();
    live_row& row = rows.emplace_back();
    row.subject = name(group.type);
    row.site = group.first_site;
    row.category = name(group.category);
  }
  for_changes(before.acquisitions, now.acquisitions,
              [&](const format::lock_key& key, const format::lock_counts& change) {
                const format::lock_facts& lock = now.locks[key.lock];
                const auto position = row_index.find({lock.type, lock.site});
                if (position == row_index.end()) return;
                std::array<double, max_live_columns>& values = rows[position->second].values;
                values[0] += milliseconds(now, change[format::wait_ticks]);
                values[1] += static_cast<double>(change[format::contended]);
                values[2] += static_cast<double>(change[format::acquisitions]);
                values[3] += milliseconds(now, change[format::held_ticks]);
              });
  return rows;
}

std::vector<live_row> call_rows(const recording& before, const recording& now) {
  std::vector<live_row> rows;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> row_index;  // by site and number
  for (const call_site& site : find_calls(now).sites) {
    row_index[{site.site, site.number}] = rows.size();
    live_row& row = rows.emplace_back();
    row.subject = site.name;
    row.site = site.site;
    row.category = name(site.category);
  }
  for_changes(before.calls, now.calls, [&](const format::call_key& key, const format::call_counts& change) {
    const auto position = row_index.find({key.site, key.number});
    if (position == row_index.end()) return;
    std::array<double, max_live_columns>& values = rows[position->second].values;
    values[0] += static_cast<double>(change[format::calls]);
    values[1] += milliseconds(now, change[format::call_ticks]);
    values[2] += static_cast<double>(change[format::returned_bytes]);
    values[3] += static_cast<double>(change[format::errors]);
  });
  for (const auto& [key, since] : now.open_calls) {
    const auto [position, is_new] = row_index.try_emplace({key.site, key.number}, rows.size());
    if (is_new) {
      live_row& row = rows.emplace_back();
      row.subject = call_name(key.number);
      row.site = key.site;
    }
    double& open_ms = rows[position->second].values[4];
    open_ms = std::max(open_ms, milliseconds(now, now.clock.ticks - std::min(since, now.clock.ticks)));
  }
  return rows;
}

}  // namespace

const char* name(live_view view) {
  switch (view) {
    case live_view::threads: return "threads";
    case live_view::sites: return "sites";
    case live_view::locks: return "locks";
    case live_view::calls: return "calls";
  }
  return "";
}

std::span<const live_column> columns_of(live_view view) {
  switch (view) {
    case live_view::threads: return thread_columns;
    case live_view::sites: return site_columns;
    case live_view::locks: return lock_columns;
    case live_view::calls: return call_columns;
  }
  return {};
}

std::vector<live_row> live_rows(live_view view, const recording& before, const recording& now, double seconds) {
  std::vector<live_row> rows = view == live_view::threads ? thread_rows(before, now)
                               : view == live_view::sites ? site_rows(before, now)
                               : view == live_view::locks ? lock_rows(before, now)
                                                          : call_rows(before, now);
  const std::span<const live_column> columns = columns_of(view);
  for (live_row& row : rows) {
    for (std::size_t index = 0; index < columns.size(); ++index) {
      if (columns[index].is_rate) row.values[index] /= seconds;
    }
  }
  return rows;
}

live_totals totals_of(const recording& before, const recording& now, double seconds) {
  live_totals totals;
  for (const live_row& row : live_rows(live_view::threads, before, now, seconds)) {
    totals.allocations += row.values[0];
    totals.bytes += row.values[1];
    totals.frees += row.values[2];
    totals.remote_frees += row.values[3];
    totals.wait_ms += row.values[4];
    totals.calls += row.values[5];
    totals.call_ms += row.values[6];
  }
  const heap_findings heap = find(now);
  totals.in_use = heap.live;
  std::map<std::uint32_t, heap_category> categories;
  for (const site& site : heap.sites) categories[site.number] = site.category;
  for_changes(before.cells, now.cells, [&](const format::heap_key& key, const format::heap_counts& change) {
    totals.by_category[static_cast<std::size_t>(categories[key.site])] +=
        static_cast<double>(change[format::blocks]) / seconds;
  });
  return totals;
}

}  // namespace tarn::analyse
