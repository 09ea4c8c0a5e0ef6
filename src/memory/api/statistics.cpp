#include "memory/api/statistics.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/options.hpp"
#include "memory/api/advice.hpp"
#include "memory/api/statistics_text.hpp"
#include "memory/heap/registry.hpp"
#include "platform/platform.hpp"

namespace tarn::api {
namespace {

/// Holds the busiest heaps of a report, by bytes allocated; of equal ones the older comes first.
class busiest_heaps {
 public:
  void offer(const heap_row& row) noexcept {
    std::size_t position = count_;
    if (count_ < max_heap_rows) {
      ++count_;
    } else if (rows_[--position].statistics.allocated_bytes > row.statistics.allocated_bytes) {
      return;
    }
    // The registry lists the newest heap first, and of equal heaps the older one stands first here.
    for (; position > 0 && rows_[position - 1].statistics.allocated_bytes <= row.statistics.allocated_bytes;
         --position) {
      rows_[position] = rows_[position - 1];
    }
    rows_[position] = row;
  }
  /// Copies the names, because heaps may be renamed once the registry's lock is released.
  void keep_names() noexcept {
    for (std::size_t index = 0; index < count_; ++index) {
      const std::string_view name = rows_[index].name;
      std::memcpy(names_[index], name.data(), name.size());
      rows_[index].name = {names_[index], name.size()};
    }
  }
  std::span<const heap_row> rows() const noexcept { return {rows_, count_}; }

 private:
  heap_row rows_[max_heap_rows];
  char names_[max_heap_rows][sizeof heaps::heap::name];
  std::size_t count_ = 0;
};

// Shows the frees that wait as done. Other threads change the numbers meanwhile, so that fewer blocks than these may
// still be in use.
void take_out(process_statistics& now, const heaps::waiting_frees& waiting, bool is_counting) noexcept {
  heap_statistics& sums = now.sums;
  now.waiting_frees = waiting.blocks;
  now.waiting_bytes = waiting.bytes;
  sums.used_bytes -= std::min(sums.used_bytes - sums.large_bytes, waiting.bytes);
  if (is_counting) {
    sums.freed_blocks = std::min(sums.freed_blocks + waiting.blocks, sums.allocated_blocks);
    sums.freed_bytes = std::min(sums.freed_bytes + waiting.bytes, sums.allocated_bytes);
  }
}

}  // namespace

process_statistics process_now() noexcept {
  process_statistics now;
  now.sums = heaps::registry::ended_statistics();
  bool is_counting = false;
  heaps::registry::for_all([&](const heaps::heap& heap) {
    now.sums += heap.statistics();
    is_counting = is_counting || (heap.frees_may_wait.load(std::memory_order_relaxed) && heap.policy.is_counting());
  });
  take_out(now, heaps::registry::waiting(), is_counting);
  now.sums.peak_footprint_bytes = heaps::central().peak_used_bytes();
  const auto counts = heaps::registry::count();
  now.heaps = counts.heaps;
  now.threads_started = counts.started;
  now.abandoned_heaps = counts.abandoned;
  now.adopted_heaps = counts.adopted;
  const platform::purge_counts purged = platform::purge_totals();
  now.purges = purged.runs;
  now.purged_bytes = purged.bytes;
  now.footprint_bytes = now.sums.footprint_bytes;
  now.peak_footprint_bytes = now.sums.peak_footprint_bytes;
  now.mapped_bytes = platform::mapped_bytes();
  now.system_calls = platform::system_calls();
  return now;
}

void print_now() noexcept {
  busiest_heaps busiest;
  heap_peaks peaks(base::current_options().initial);
  const process_statistics now = process_now();
  {
    const platform::locked hold(heaps::registry::lock());  // names change under this lock
    heaps::registry::for_all([&](const heaps::heap& heap) {
      const bool is_owned = heap.state.load(std::memory_order_relaxed) == heaps::ownership::occupied;
      // One heap serves several threads, one after the other.
      const bool had_threads = !is_owned && heap.name[0] == '\0';
      busiest.offer({.name = had_threads ? std::string_view("ended threads") : std::string_view(heap.name),
                     .thread = is_owned ? heap.owner_thread.load(std::memory_order_relaxed) : 0,
                     .statistics = heap.statistics()});
      if (heap.space == &heaps::central() && !heap.policy.is_shared()) {
        peaks.add(heap.run_peak_bytes.load(std::memory_order_relaxed));
      }
    });
    busiest.keep_names();
  }
  // The lock is not held here: the reader of the report may be slow, or need memory first.
  print_statistics(base::current_options(), now, busiest.rows(), peaks.result(now.peak_footprint_bytes));
}

}  // namespace tarn::api
