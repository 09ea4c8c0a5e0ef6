#include "record/events.hpp"

#include "format/clock.hpp"
#include "record/chance.hpp"
#include "record/entry.hpp"
#include "record/quiet.hpp"
#include "record/region.hpp"

namespace tarn::record {
namespace {

using format::counter;

constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << 28) - 1;

void count(format::cell& to, std::size_t what, std::uint64_t amount) noexcept { add(to.value[what], amount); }

bool is_sampled() noexcept { return header().interval != 0; }

// Whether the thread samples this block; draws the next distance then.
bool is_due(thread& self, std::size_t bytes, charged how) noexcept {
  format::thread_record& counts = self.counts();
  add(counts.allocations, 1);
  if (!is_sampled()) return true;
  std::int64_t left = counts.until.load(std::memory_order_relaxed);
  if (how == charged::no) left -= cost_of(bytes);
  const bool is_due = left < 0;
  for (; left < 0;) {  // more than one point may lie in a large block
    const std::int64_t distance = self.points.next();
    left += distance;
    counts.drawn.store(counts.drawn.load(std::memory_order_relaxed) + distance, std::memory_order_relaxed);
  }
  counts.until.store(left, std::memory_order_relaxed);
  return is_due;
}

void count_allocation(thread& self, const void* block, std::size_t bytes, const caller& from, charged how) noexcept {
  if (self.part.is_due(self.counts())) [[unlikely]]
    self.part.begin(self.counts());
  if (!is_due(self, bytes, how)) {
    if (self.part.is_open()) self.part.note(format::excerpt_kind::allocate, block, bytes, site_from(self, from));
    return;
  }
  const auto [site, to] = heap_place(self, from);
  if (self.part.is_open()) [[unlikely]]
    self.part.note(format::excerpt_kind::allocate, block, bytes, site);
  if (to == nullptr) [[unlikely]]
    return self.count_forgotten();
  birth born;
  born.site = site;
  born.owner = self.number();
  born.early = threads_so_far() == 1;
  born.sequence = self.counts().allocations.load(std::memory_order_relaxed);
  born.weight = 1;
  if (is_sampled()) {
    born.weight = self.points.weight(bytes);
    born.time = format::ticks();
  }
  if (!note_birth(block, born)) [[unlikely]]
    return self.count_forgotten();
  const std::uint64_t weight = born.weight;
  count(*to, counter::blocks, weight);
  count(*to, counter::bytes, bytes * weight);
  count(*to, counter::size_buckets + format::size_bucket(bytes), weight);
  if (born.early) count(*to, counter::early, weight);
  if (is_sampled()) count(*to, counter::spread, weight * (weight - 1));
}

void count_free(thread& self, const birth& born) noexcept {
  format::cell* const to = self.cell_of(born.site, born.owner);
  if (to == nullptr) [[unlikely]]
    return self.count_forgotten();
  const std::uint64_t weight = born.weight;
  count(*to, counter::frees, weight);
  if (born.owner == self.number()) {
    const std::uint64_t between =
        (self.counts().allocations.load(std::memory_order_relaxed) - born.sequence) & sequence_mask;
    count(*to, counter::life_buckets + format::life_bucket(between), weight);
  }
  if (born.time != 0) count(*to, counter::time_buckets + format::time_bucket(format::ticks() - born.time), weight);
  if (born.early) {
    if (threads_so_far() == 1) {
      count(*to, counter::early_gone, weight);
    } else if (threads_running() > 1) {
      count(*to, counter::early_busy, weight);
    }
  }
}

}  // namespace

void allocated(const void* block, std::size_t bytes, const caller& from, charged how) noexcept {
  if (is_in_region()) [[unlikely]]
    hear_heap(from);
  if (block == nullptr || !records()) return;
  entry here;
  if (!here) return;
  count_allocation(here.self(), block, bytes, from, how);
}

void freed(const void* block) noexcept {
  if (block == nullptr || !records()) return;
  entry here;
  if (!here) return;
  add(here.self().counts().frees, 1);
  if (here.self().part.is_open()) [[unlikely]]
    here.self().part.note_release(block);
  const birth born = take_birth(block);
  if (born.weight != 0) {
    count_free(here.self(), born);
  } else if (!is_sampled()) {
    here.self().count_unknown();
  }
}

birth before_resize(const void* block) noexcept {
  if (!records()) return {};
  const entry here;
  return take_birth(block);
}

void after_resize(const birth& born, const void* block, const void* made, std::size_t old_bytes, std::size_t bytes,
                  const caller& from, charged how) noexcept {
  if (is_in_region()) [[unlikely]]
    hear_heap(from);
  if (!records()) return;
  entry here;
  if (!here) return;
  if (made == nullptr) {
    if (born.weight != 0) (void)note_birth(block, born);
    return;
  }
  thread& self = here.self();
  add(self.counts().frees, 1);
  if (self.part.is_open()) [[unlikely]]
    self.part.note(format::excerpt_kind::resize, block, old_bytes, 0);
  if (born.weight != 0) {
    count_free(self, born);
    if (format::cell* const to = self.cell_of(born.site, born.owner)) {
      count(*to, counter::reallocs, born.weight);
      if (made != block) {
        count(*to, counter::moved, born.weight);
        count(*to, counter::copied, (old_bytes < bytes ? old_bytes : bytes) * born.weight);
      }
    }
  } else if (!is_sampled()) {
    self.count_unknown();
  }
  count_allocation(self, made, bytes, from, how);
}

}  // namespace tarn::record
