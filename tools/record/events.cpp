#include "record/events.hpp"

#include <bit>

#include "record/known_stacks.hpp"
#include "record/region.hpp"
#include "record/sites.hpp"
#include "record/threads.hpp"

namespace tarn::record {
namespace {

using format::counter;

// Set while this thread is in the recorder: what the C library allocates for us is not the program's.
constinit thread_local bool inside = false;
// The block that operator delete frees, while it runs.
constinit thread_local const void* in_delete = nullptr;

constinit lock starting;
constinit std::atomic<int> started = 0;  // 1: all is set up; -1: it could not be

bool start() noexcept {
  const holding held(starting);
  if (started.load(std::memory_order_relaxed) == 0) {
    const bool done = set_up_blocks() && set_up_sites();
    started.store(done ? 1 : -1, std::memory_order_release);  // who sees 1 sees the tables
  }
  return started.load(std::memory_order_relaxed) == 1;
}

class event {
 public:
  event() noexcept {
    inside = true;
    self_ = thread::own();
    if (self_ != nullptr && self_->shared_lock() != nullptr) [[unlikely]]
      self_->shared_lock()->acquire();
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() {
    if (self_ != nullptr && self_->shared_lock() != nullptr) [[unlikely]]
      self_->shared_lock()->release();
    inside = false;
  }
  explicit operator bool() const noexcept { return self_ != nullptr; }
  thread& self() noexcept { return *self_; }

 private:
  thread* self_;
};

void count(format::cell& to, std::size_t what, std::uint64_t amount = 1) noexcept { add(to.value[what], amount); }

[[gnu::noinline]] std::uint32_t walk_to_site(thread& self, const caller& from, stack_reads& reads) noexcept {
  std::uintptr_t frames[format::most_frames];
  return site_of(frames, walk(from, self.stack(), frames, reads));
}

// The site of the stack, and the thread's cell for what it allocates there.
struct target {
  std::uint32_t site;
  format::cell* cell;
};
target target_of(thread& self, const caller& from) noexcept {
  known_stacks* const stacks = self.stacks();
  if (stacks == nullptr) [[unlikely]] {
    stack_reads reads;
    const std::uint32_t site = walk_to_site(self, from, reads);
    return {site, self.cell_of(site, self.number())};
  }
  known_stacks::known* known = stacks->find(from);
  if (known == nullptr) {
    known = &stacks->place_for(from);
    known_stacks::keep(*known, from, walk_to_site(self, from, known->reads));
  }
  if (known->cell == nullptr) known->cell = self.cell_of(known->site, self.number());
  return {known->site, known->cell};
}

void count_allocation(thread& self, const void* block, std::size_t bytes, const caller& from) noexcept {
  const auto [site, to] = target_of(self, from);
  std::atomic<std::uint64_t>* const word = word_of(block);
  if (to == nullptr || word == nullptr) [[unlikely]]
    return self.count_forgotten();
  const bool is_early = threads_so_far() == 1;
  count(*to, counter::blocks);
  count(*to, counter::bytes, bytes);
  count(*to, counter::size_buckets + format::size_bucket(bytes));
  if (is_early) count(*to, counter::early);
  birth born;
  born.known = 1;
  born.early = is_early ? 1 : 0;
  born.site = site & (format::most_sites - 1);
  born.owner = self.number() & format::most_threads;
  born.sequence = self.sequence++ & sequence_mask;
  word->store(std::bit_cast<std::uint64_t>(born), std::memory_order_relaxed);
}

void count_free(thread& self, birth born) noexcept {
  format::cell* const to = self.cell_of(born.site, born.owner);
  if (to == nullptr) [[unlikely]]
    return self.count_forgotten();
  count(*to, counter::frees);
  if (born.owner == self.number()) {
    const std::uint64_t between = (self.sequence - born.sequence - 1) & sequence_mask;
    count(*to, counter::life_buckets + format::life_bucket(between));
  }
  if (born.early != 0) {
    if (threads_so_far() == 1) {
      count(*to, counter::early_gone);
    } else if (threads_running() > 1) {
      count(*to, counter::early_busy);
    }
  }
}

// Whether this process is recorded and the calling thread is not in the recorder already.
bool records() noexcept {
  if (inside) return false;
  if (started.load(std::memory_order_acquire) <= 0) [[unlikely]] {
    if (started.load(std::memory_order_relaxed) < 0 || !attach()) return false;
    if (!start()) return false;
  }
  return is_recorded();
}

}  // namespace

void allocated(const void* block, std::size_t bytes, const caller& from) noexcept {
  if (block == nullptr || !records()) return;
  event now;
  if (now) count_allocation(now.self(), block, bytes, from);
}

void freed(const void* block) noexcept {
  if (block == nullptr || block == in_delete || !records()) return;
  std::atomic<std::uint64_t>* const word = known_word_of(block);
  event now;
  if (!now) return;
  const auto born = std::bit_cast<birth>(word == nullptr ? 0 : word->load(std::memory_order_relaxed));
  if (word == nullptr || born.known == 0) return now.self().count_unknown();
  word->store(0, std::memory_order_relaxed);
  count_free(now.self(), born);
}

std::uint64_t before_resize(const void* block) noexcept {
  if (!records()) return 0;
  std::atomic<std::uint64_t>* const word = known_word_of(block);
  if (word == nullptr) return 0;
  const std::uint64_t kept = word->load(std::memory_order_relaxed);
  word->store(0, std::memory_order_relaxed);
  return kept;
}

void after_resize(std::uint64_t word, const void* block, const void* made, std::size_t old_bytes, std::size_t bytes,
                  const caller& from) noexcept {
  if (!records()) return;
  if (made == nullptr) {
    if (word != 0) word_of(block)->store(word, std::memory_order_relaxed);
    return;
  }
  event now;
  if (!now) return;
  const auto born = std::bit_cast<birth>(word);
  if (born.known != 0) {
    count_free(now.self(), born);
    if (format::cell* const to = now.self().cell_of(born.site, born.owner)) {
      count(*to, counter::reallocs);
      if (made != block) {
        count(*to, counter::moved);
        count(*to, counter::copied, old_bytes < bytes ? old_bytes : bytes);
      }
    }
  } else {
    now.self().count_unknown();
  }
  count_allocation(now.self(), made, bytes, from);
}

void allocated_by_operator(const void* block, std::size_t bytes, const caller& from) noexcept {
  if (block == nullptr || !records()) return;
  const std::atomic<std::uint64_t>* const word = known_word_of(block);
  const auto born = std::bit_cast<birth>(word == nullptr ? 0 : word->load(std::memory_order_relaxed));
  if (born.known != 0) return;  // by the malloc below: the word of a block that is free is 0
  event now;
  if (now) count_allocation(now.self(), block, bytes, from);
}

void deleting(const void* block) noexcept {
  freed(block);
  in_delete = block;
}

void deleted() noexcept { in_delete = nullptr; }

}  // namespace tarn::record
