#include "tarn/replay.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tarn/arena.hpp>
#include <tarn/detail/fast_path.hpp>
#include <tarn/recycle.hpp>
#include <thread>

#include "tarn/failure.hpp"
#include "tarn/pairs.hpp"
#include "tarn/replay_script.hpp"

namespace tarn::command {
namespace {

using analyse::replay_job;
using analyse::replay_plan;
using analyse::replay_step;
using analyse::replayed;

// The program's work between two steps is not known, so these are the extremes of it.
enum class beside : std::size_t {
  nothing,    // the calls overlap with one another
  surprises,  // branches that no processor can predict; after them it also mispredicts those of the allocator
  waits,      // a chain of dependent operations, which leaves the processor time for the calls
  count,
};
constexpr std::size_t beside_count = static_cast<std::size_t>(beside::count);

class other_work {
 public:
  [[gnu::noinline]] std::uint64_t surprise() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    std::uint64_t sum = 0;
    for (std::uint64_t bits = state_ >> (64 - branches), left = branches; left > 0; --left, bits >>= 1) {
      if ((bits & 1) == 0) continue;
      asm volatile("" : "+r"(sum));  // forces a jump instead of a conditional move
      sum += data_[bits * 64 % sizeof data_];
    }
    return sum;
  }

  // Takes longer than a call that overlaps with all of it.
  [[gnu::noinline]] std::uint64_t wait() {
    for (int left = 16; left > 0; --left) {
      waited_ *= 0x9fb21c651e98df25ULL;
      asm volatile("" : "+r"(waited_));
    }
    return waited_;
  }

 private:
  static constexpr unsigned branches = 4;

  std::uint64_t state_ = 1, waited_ = 1;
  std::array<unsigned char, 4096> data_{};
};

std::ptrdiff_t warm_steps(std::size_t all) { return static_cast<std::ptrdiff_t>(all / 4); }

class player {
 public:
  player(std::uint32_t most_places, std::uint32_t most_bytes)
      : source_(most_text, 'x'),
        same_(source_),
        blocks_(most_places),
        texts_(new text_place[most_places]),
        kept_(most_bytes) {}

  // Returns the nanoseconds of the last three quarters of a script; the first quarter warms the caches.
  double play(const script& all, beside what) {
    const auto begin = all.steps.begin();
    run<beside::nothing>(all.before);
    run(std::span(begin, begin + warm_steps(all.steps.size())), what);
    const double begun = thread_ns();
    run(std::span(begin + warm_steps(all.steps.size()), all.steps.end()), what);
    const double ns = thread_ns() - begun;
    run<beside::nothing>(all.after);
    arena_.reset();
    return ns;
  }

 private:
  static constexpr std::size_t most_text = 64 * 1024;
  struct text_place {
    alignas(std::string) std::byte bytes[sizeof(std::string)];
  };

  std::string& text_at(std::uint32_t place) {
    return *std::launder(reinterpret_cast<std::string*>(texts_[place].bytes));
  }
  // Returns a text that takes `bytes` bytes with the 0 at its end.
  std::string_view text_of(std::uint32_t bytes) const {
    return std::string_view(source_).substr(0, bytes == 0 ? 0 : bytes - 1);
  }

  // Reads the text, since a program makes a text to read it. Bytes written just before are slower to read
  // than bytes that were there already.
  unsigned read(std::string_view text) const {
    return static_cast<unsigned>(std::memcmp(text.data(), same_.data(), text.size()));
  }
  void copy(void* to, const action& how) { std::memcpy(to, blocks_[how.from], std::min(how.bytes, how.old_bytes)); }

  void run(std::span<const action> steps, beside what) {
    switch (what) {
      case beside::surprises: return run<beside::surprises>(steps);
      case beside::waits: return run<beside::waits>(steps);
      default: return run<beside::nothing>(steps);
    }
  }

  // Fills the new part of a block as a container would. In a large block the first touch of a page may take the most
  // time. The filling itself is the program's own work, with and without a remedy.
  static void fill(char* block, const action& how) {
    for (std::uint32_t at = how.old_bytes / page_bytes * page_bytes; at < how.bytes; at += page_bytes)
      touch(block + at);
  }

  template <beside What>
  [[gnu::noinline]] void run(std::span<const action> steps) {
    std::uint64_t sum = 0;
    const action* const end = steps.data() + steps.size();
    for (const action* now = steps.data(); now != end; ++now) {
      if constexpr (What == beside::surprises) sum += work_.surprise();
      if constexpr (What == beside::waits) sum += work_.wait();
      void*& block = blocks_[now->place];
      switch (now->does) {
        case op::nothing: break;
        case op::allocate: touch(block = std::malloc(now->bytes)); break;
        case op::release: std::free(block); break;
        case op::allocate_new: touch(block = ::operator new(now->bytes)); break;
        case op::release_new: ::operator delete(block); break;
        case op::resize: block = std::realloc(blocks_[now->from], now->bytes); break;
        case op::grow: copy(block = std::malloc(now->bytes), *now); break;
        case op::grow_new: copy(block = ::operator new(now->bytes), *now); break;
        case op::take_over: block = blocks_[now->from]; break;
        case op::make_text:
          ::new (texts_[now->place].bytes) std::string(text_of(now->bytes));
          sum += read(text_at(now->place));
          break;
        case op::read_text: sum += read(text_of(now->bytes)); break;
        case op::end_text: std::destroy_at(&text_at(now->place)); break;
        case op::recycle: touch(recycle<std::string>()->data()); break;
        case op::fill: fill(static_cast<char*>(block), *now); break;
        case op::fill_kept: fill(kept_.data(), *now); break;
        case op::allocate_pooled: touch(block = detail::allocate(detail::local, now->size)); break;
        case op::release_pooled: detail::deallocate(detail::local, block, now->size); break;
        case op::allocate_large: touch(block = detail::allocate_any(detail::local, now->bytes, 8)); break;
        case op::release_large: detail::deallocate_slow(detail::local, block); break;
        case op::resize_pooled:
          copy(block = detail::allocate(detail::local, now->bytes, 8), *now);
          detail::deallocate(detail::local, blocks_[now->from], now->old_bytes, 8);
          break;
        case op::grow_pooled: copy(block = detail::allocate(detail::local, now->bytes, 8), *now); break;
        case op::allocate_arena: touch(block = arena_.allocate(now->bytes)); break;
      }
    }
    asm volatile("" : : "r"(sum) : "memory");
  }

  other_work work_;
  std::string source_, same_;
  std::vector<void*> blocks_;
  std::unique_ptr<text_place[]> texts_;
  std::vector<char> kept_;
  arena arena_;
};

double timed_allocations(const replay_job& job) {
  std::size_t count = 0;
  for (const replay_plan& plan : job.plans) {
    count += static_cast<std::size_t>(
        std::count_if(plan.steps.begin() + warm_steps(plan.steps.size()), plan.steps.end(),
                      [](const replay_step& each) { return each.chosen && each.is != replay_step::release; }));
  }
  return static_cast<double>(count);
}

// Measures the nanoseconds of each way for a chosen allocation, beside each kind of other work.
class times {
 public:
  explicit times(const replay_job& job, int rounds = 7) {
    std::uint32_t places = 0, bytes = 0;
    for (const replay_plan& plan : job.plans) {
      places = std::max(places, plan.places);
      for (const auto* const steps : {&plan.before, &plan.steps, &plan.after}) {
        for (const replay_step& each : *steps) bytes = std::max(bytes, each.chosen ? each.bytes : 0);
      }
    }
    player by(places, bytes);
    std::array<std::vector<script>, way_count> scripts;
    for (std::size_t each = 0; each < way_count; ++each) {
      const auto what = static_cast<way>(each);
      is_there_[each] = has_way(job, what);
      if (is_there_[each]) scripts[each] = scripts_of(job, what);
    }
    // Takes the minimum of some rounds for each script, because other load on the machine only ever adds time. With
    // the median, ten programs were predicted a tenth higher.
    std::array<std::array<std::vector<double>, way_count>, beside_count> least;
    for (auto& of_all : least) {
      for (std::size_t each = 0; each < way_count; ++each) of_all[each].resize(scripts[each].size());
    }
    for (int round = 0; round <= rounds; ++round) {  // the first round is not used
      for (std::size_t each = 0; each < way_count; ++each) {
        for (std::size_t at = 0; at < scripts[each].size(); ++at) {
          for (std::size_t what = 0; what < beside_count; ++what) {
            const double ns = by.play(scripts[each][at], static_cast<beside>(what));
            double& best = least[what][each][at];
            best = round <= 1 ? ns : std::min(best, ns);
          }
        }
      }
    }
    for (std::size_t what = 0; what < beside_count; ++what) {
      for (std::size_t each = 0; each < way_count; ++each)
        ns_[what][each] = std::accumulate(least[what][each].begin(), least[what][each].end(), 0.0);
    }
    count_ = timed_allocations(job);
  }

  bool has(way what) const { return is_there_[static_cast<std::size_t>(what)]; }
  double of(way what, beside other) const {
    return ns_[static_cast<std::size_t>(other)][static_cast<std::size_t>(what)] / count_;
  }
  double saved(way before, way after, beside other) const { return of(before, other) - of(after, other); }

 private:
  std::array<bool, way_count> is_there_{};
  std::array<std::array<double, way_count>, beside_count> ns_{};
  double count_ = 1;
};

constexpr double least_timed = 64;  // allocations; below this the clock's own error is most of the result

replayed play(const replay_job& job) {
  if (timed_allocations(job) < least_timed) return {};
  const times all(job);
  const auto saved = [&](way before, way after) -> analyse::call_ns {
    if (!all.has(before) || !all.has(after)) return {};
    return {all.saved(before, after, beside::nothing), all.saved(before, after, beside::surprises),
            all.saved(before, after, beside::waits)};
  };
  replayed made;
  made.now = saved(way::as_is, way::nothing);
  made.hoist = job.is_copied_text ? saved(way::as_copy, way::unmade) : made.now;
  made.recycle = saved(way::as_is, way::recycled);
  made.pooled = saved(way::as_is, way::pooled);
  made.arena = saved(way::as_is, way::arena);
  made.reserve = saved(way::as_is, way::reserved);
  // Inlined calls of a few instructions hide behind the branch misprediction, where a library call does not.
  made.pooled.surprised = made.arena.surprised = made.now.surprised;
  return made;
}

}  // namespace

std::vector<replayed> replay(std::vector<replay_job> jobs) {
  if (!std::all_of(jobs.begin(), jobs.end(), is_playable)) fail(exit_code::usage, "steps that cannot be repeated");
  std::vector<replayed> all(jobs.size());
  const auto play_all = [&](bool alone) {
    for (std::size_t at = 0; at < jobs.size(); ++at) {
      if (jobs[at].alone != alone) continue;
      if (jobs[at].first_thread) {
        all[at] = play(jobs[at]);
      } else {
        std::thread([&] { all[at] = play(jobs[at]); }).join();
      }
    }
  };
  play_all(true);
  std::thread([] {}).join();  // from here on the C library takes the paths of a process with threads
  play_all(false);
  return all;
}

void rehearse(const replay_job& job) {
  if (!is_playable(job)) fail(exit_code::usage, "steps that cannot be repeated");
  const times once(job, 0);
}

}  // namespace tarn::command
