#include "record/events.hpp"

#include "format/clock.hpp"
#include "record/births.hpp"
#include "record/chance.hpp"
#include "record/entry.hpp"
#include "record/quiet.hpp"
#include "record/region.hpp"
#include "record/sampled_blocks.hpp"

namespace tarn::record {
namespace {

using format::counter;

constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << 28) - 1;

void count(format::cell& to, std::size_t what, std::uint64_t amount) noexcept { add(to.value[what], amount); }

bool is_sampled() noexcept { return header().interval != 0; }

// Returns true when the thread samples this block, and then draws the next distance.
[[gnu::noinline]] bool is_sample(thread& self, std::size_t bytes, charged how) noexcept {
  format::thread_record& counts = self.counts();
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

birth birth_of(thread& self, std::uint32_t site) noexcept {
  return {.weight = 1,
          .site = site,
          .owner = self.number(),
          .early = threads_so_far() == 1,
          .sequence = self.counts().allocations.load(std::memory_order_relaxed)};
}

[[gnu::noinline]] bool note_sample(thread& self, format::cell& to, const void* block, std::size_t bytes,
                                   birth born) noexcept {
  born.weight = self.points.weight(bytes);
  born.time = format::ticks();
  if (!note_sampled(block, born)) return false;
  const std::uint64_t weight = born.weight;
  count(to, counter::blocks, weight);
  count(to, counter::bytes, bytes * weight);
  count(to, counter::size_buckets + format::size_bucket(bytes), weight);
  if (born.early) count(to, counter::early, weight);
  count(to, counter::spread, weight * (weight - 1));
  return true;
}

[[gnu::always_inline]] inline bool note_each(format::cell& to, const void* block, std::size_t bytes,
                                             const birth& born) noexcept {
  if (!births::note(block, born)) [[unlikely]]
    return false;
  count(to, counter::blocks, 1);
  count(to, counter::bytes, bytes);
  count(to, counter::size_buckets + format::size_bucket(bytes), 1);
  if (born.early) count(to, counter::early, 1);
  return true;
}

[[gnu::always_inline]] inline void count_allocation(thread& self, const void* block, std::size_t bytes,
                                                    const caller& from, charged how) noexcept {
  format::thread_record& counts = self.counts();
  if (self.part.is_due(counts)) [[unlikely]]
    self.part.begin(counts);
  add(counts.allocations, 1);
  const bool sampled = is_sampled();
  if (sampled && !is_sample(self, bytes, how)) {
    if (self.part.is_open()) self.part.note(format::excerpt_kind::allocate, block, bytes, site_from(self, from));
    return;
  }
  const auto [site, to] = heap_place(self, from);
  if (self.part.is_open()) [[unlikely]]
    self.part.note(format::excerpt_kind::allocate, block, bytes, site);
  if (to == nullptr) [[unlikely]]
    return self.count_forgotten();
  const birth born = birth_of(self, site);
  const bool is_noted = sampled ? note_sample(self, *to, block, bytes, born) : note_each(*to, block, bytes, born);
  if (!is_noted) [[unlikely]]
    self.count_forgotten();
}

[[gnu::always_inline]] inline birth take_birth(const void* block) noexcept {
  return is_sampled() ? take_sampled(block) : births::take(block);
}
bool note_birth(const void* block, const birth& born) noexcept {
  return is_sampled() ? note_sampled(block, born) : births::note(block, born);
}

[[gnu::always_inline]] inline void count_free(thread& self, const birth& born) noexcept {
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

[[gnu::noinline]] void allocated_otherwise(const void* block, std::size_t bytes, const caller& from,
                                           charged how) noexcept {
  if (is_in_region()) [[unlikely]]
    hear_heap(from);
  if (block == nullptr || !records()) return;
  entry here;
  if (!here) return;
  count_allocation(here.self(), block, bytes, from, how);
}

[[gnu::noinline]] void freed_otherwise(const void* block) noexcept {
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

}  // namespace

void allocated(const void* block, std::size_t bytes, const caller& from, charged how) noexcept {
  {
    plain_entry here;
    if (here && block != nullptr && !here.self().part.is_due(here.self().counts())) [[likely]] {
      thread& self = here.self();
      add(self.counts().allocations, 1);
      const auto [site, to] = heap_place(self, from);
      if (to == nullptr || !note_each(*to, block, bytes, birth_of(self, site))) [[unlikely]]
        self.count_forgotten();
      return;
    }
  }
  allocated_otherwise(block, bytes, from, how);
}

void freed(const void* block) noexcept {
  {
    plain_entry here;
    if (here && block != nullptr) [[likely]] {
      thread& self = here.self();
      add(self.counts().frees, 1);
      const birth born = births::take(block);
      if (born.weight != 0) [[likely]] {
        count_free(self, born);
      } else {
        self.count_unknown();
      }
      return;
    }
  }
  freed_otherwise(block);
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
