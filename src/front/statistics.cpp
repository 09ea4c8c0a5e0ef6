#include "front/statistics.hpp"

#include "base/options.hpp"
#include "front/statistics_text.hpp"
#include "heap/registry.hpp"
#include "platform/platform.hpp"

namespace tarn::front {
namespace {

void add(heap_statistics& sum, const heap_statistics& more) noexcept {
  sum.allocated_blocks += more.allocated_blocks;
  sum.freed_blocks += more.freed_blocks;
  sum.allocated_bytes += more.allocated_bytes;
  sum.freed_bytes += more.freed_bytes;
  sum.remote_frees += more.remote_frees;
  sum.used_bytes += more.used_bytes;
  sum.slabs += more.slabs;
  sum.slab_bytes += more.slab_bytes;
  sum.large_blocks += more.large_blocks;
  sum.large_bytes += more.large_bytes;
  sum.footprint_bytes += more.footprint_bytes;
  sum.refills += more.refills;
  sum.flushes += more.flushes;
}

// For the rows of one report; the report itself has one writer at a time.
constinit heap_row rows[most_heap_rows];

}  // namespace

process_statistics process_now() noexcept {
  process_statistics now;
  heaps::registry::for_all([&now](const heaps::heap& each) { add(now.sums, each.statistics()); });
  now.sums.peak_footprint_bytes = heaps::central().peak_used_bytes();
  const auto counts = heaps::registry::count();
  now.heaps = counts.heaps;
  now.threads_started = counts.started;
  now.abandoned = counts.abandoned;
  now.adopted = counts.adopted;
  const platform::purge_counts purged = platform::purged();
  now.purges = purged.runs;
  now.purged_bytes = purged.bytes;
  now.footprint_bytes = platform::mapped_bytes();
  now.peak_footprint_bytes = platform::peak_mapped_bytes();
  now.system_calls = platform::system_calls();
  return now;
}

void print_now() noexcept {
  std::size_t count = 0;
  heaps::registry::for_all([&count](const heaps::heap& each) {
    if (count < most_heap_rows) {
      const bool owned = each.state.load(std::memory_order_relaxed) == heaps::ownership::owned;
      rows[count].name = each.name;
      rows[count].thread = owned ? each.owner_thread.load(std::memory_order_relaxed) : 0;
      rows[count].statistics = each.statistics();
      ++count;
    }
  });
  print_statistics(base::current_options(), process_now(), {rows, count});
}

}  // namespace tarn::front
