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

namespace tarn::command {
namespace {

using analyse::replay_job;
using analyse::replay_plan;
using analyse::replay_step;
using analyse::replayed;

// What to do for the chosen blocks. Of a text that is not copied what it would be a copy of is read.
enum class way : std::size_t { as_is, as_copy, nothing, unmade, recycled, pooled, arena, reserved, count };
constexpr std::size_t way_count = static_cast<std::size_t>(way::count);

enum class op : std::uint8_t {
  nothing,
  allocate,
  release,
  allocate_new,
  release_new,
  resize,
  grow,
  grow_new,
  take_over,
  make_text,
  read_text,
  end_text,
  recycle,
  fill,
  fill_kept,
  allocate_pooled,
  release_pooled,
  allocate_large,
  release_large,
  resize_pooled,
  grow_pooled,
  allocate_arena,
};
struct action {
  op does;
  detail::size_class size;  // of a pooled block, known at compile time where one is used
  std::uint32_t place, from, bytes;
  std::uint32_t old_bytes;  // of what is at `from`
};
struct script {
  std::vector<action> before, steps, after;
};

// What the program does between two steps is not known: the ends of it.
enum class beside : std::size_t {
  nothing,    // the calls overlap with one another
  surprises,  // branches that no processor can guess, after which it guesses those of the allocator wrong as well
  waits,      // a chain of which each part waits for the one before: it leaves the processor time for the calls
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
      asm volatile("" : "+r"(sum));  // a jump, and no conditional move
      sum += data_[bits * 64 % sizeof data_];
    }
    return sum;
  }

  // Longer than a call takes where it overlaps with everything.
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

constexpr std::uint32_t page_bytes = 4096;

std::ptrdiff_t warm_steps(std::size_t all) { return static_cast<std::ptrdiff_t>(all / 4); }

class player {
 public:
  player(std::uint32_t most_places, std::uint32_t most_bytes)
      : source_(most_text, 'x'),
        same_(source_),
        blocks_(most_places),
        texts_(new text_place[most_places]),
        kept_(most_bytes) {}

  // Nanoseconds of the later three quarters of a script: the first one brings everything near.
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
  // Of so many bytes, the 0 at its end with it.
  std::string_view text_of(std::uint32_t bytes) const {
    return std::string_view(source_).substr(0, bytes == 0 ? 0 : bytes - 1);
  }

  // A text is made to be read; what was written just before is not there as fast as what was there.
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

  // What a container asked for it fills, after what it had: of a large block the first touch of a page may be what
  // takes longest. The filling itself is the program's, with a remedy as without.
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

op as_is(const replay_step& of, bool by_new) {
  switch (of.is) {
    case replay_step::allocate: return by_new ? op::allocate_new : op::allocate;
    case replay_step::release: return by_new ? op::release_new : op::release;
    case replay_step::resize: return op::resize;
    case replay_step::grow: return by_new ? op::grow_new : op::grow;
  }
  return op::nothing;
}

op pooled(const replay_step& of) {
  const bool is_large = of.bytes > detail::largest_class_size;
  switch (of.is) {
    case replay_step::allocate: return is_large ? op::allocate_large : op::allocate_pooled;
    case replay_step::release: return is_large ? op::release_large : op::release_pooled;
    case replay_step::resize: return op::resize_pooled;
    case replay_step::grow: return op::grow_pooled;
  }
  return op::nothing;
}

op does(const replay_step& of, const replay_job& job, way by) {
  if (!of.chosen || by == way::as_is) return as_is(of, job.by_new && of.chosen);
  const bool is_release = of.is == replay_step::release;
  switch (by) {
    case way::as_copy: return is_release ? op::end_text : op::make_text;
    case way::unmade: return is_release ? op::nothing : op::read_text;
    case way::recycled: return is_release ? op::nothing : op::recycle;
    case way::pooled: return pooled(of);
    case way::arena: return is_release ? op::nothing : op::allocate_arena;
    case way::reserved: return as_is(of, job.by_new);
    default: return op::nothing;
  }
}

// Fills what it holds: in the place of a block that is not made, one that is kept.
op fills(way by) { return by == way::nothing || by == way::recycled ? op::fill_kept : op::fill; }

// The steps of one excerpt as one way does them.
class writer_of_script {
 public:
  writer_of_script(const replay_job& job, way by, std::uint32_t places)
      : job_(job), by_(by), held_(places), content_(places), is_taken_(places) {}

  void add(std::vector<action>& to, const replay_step& step) {
    const bool is_release = step.is == replay_step::release;
    const bool has_room = by_ == way::reserved && step.chosen && step.bytes <= job_.reserved_bytes;
    const std::uint32_t wanted = has_room ? job_.reserved_bytes : step.bytes;
    op what = does(step, job_, by_);
    if (has_room && step.is > replay_step::release) {
      what = op::take_over;
      is_taken_[step.from] = true;
    }
    if (is_release && is_taken_[step.place]) what = op::nothing;  // another one has the block
    const std::size_t in_class = std::min<std::size_t>(wanted, detail::largest_class_size);
    const bool grows = step.is > replay_step::release;
    const std::uint32_t had = grows ? content_[step.from] : 0;
    to.push_back({what, detail::class_of(in_class), step.place, step.from, is_release ? held_[step.place] : wanted,
                  what == op::resize_pooled ? held_[step.from] : had});
    if (is_release) return;
    held_[step.place] = wanted;
    content_[step.place] = step.bytes;
    if (!step.chosen || step.bytes <= page_bytes || !(job_.is_filled || grows)) return;
    if (by_ == way::as_copy || by_ == way::unmade) return;  // they have texts
    to.push_back({fills(by_), 0, step.place, step.from, step.bytes, had});
  }

 private:
  const replay_job& job_;
  way by_;
  std::vector<std::uint32_t> held_, content_;  // bytes at each place: of the block, of what is in it
  std::vector<bool> is_taken_;
};

std::vector<script> scripts_of(const replay_job& job, way by) {
  std::vector<script> all;
  for (const replay_plan& plan : job.plans) {
    script& made = all.emplace_back();
    writer_of_script write(job, by, plan.places);
    for (const replay_step& each : plan.before) write.add(made.before, each);
    for (const replay_step& each : plan.steps) write.add(made.steps, each);
    for (const replay_step& each : plan.after) write.add(made.after, each);
  }
  return all;
}

bool makes_sense(const replay_job& job) {
  for (const replay_plan& plan : job.plans) {
    std::vector<bool> is_there(plan.places);
    for (const auto* const steps : {&plan.before, &plan.steps, &plan.after}) {
      for (const replay_step& each : *steps) {
        if (each.place >= plan.places || each.from >= plan.places) return false;
        if (each.is == replay_step::release ? !is_there[each.place] : is_there[each.place]) return false;
        if (each.is > replay_step::release && !is_there[each.from]) return false;
        is_there[each.place] = each.is != replay_step::release;
        if (each.is == replay_step::resize) is_there[each.from] = false;
      }
    }
  }
  return true;
}

double timed_allocations(const replay_job& job) {
  std::size_t count = 0;
  for (const replay_plan& plan : job.plans) {
    count += static_cast<std::size_t>(
        std::count_if(plan.steps.begin() + warm_steps(plan.steps.size()), plan.steps.end(),
                      [](const replay_step& each) { return each.chosen && each.is != replay_step::release; }));
  }
  return static_cast<double>(std::max<std::size_t>(count, 1));
}

// Nanoseconds of each way, beside both, for a chosen allocation.
class times {
 public:
  explicit times(const replay_job& job) {
    std::uint32_t places = 0, bytes = 0;
    for (const replay_plan& plan : job.plans) {
      places = std::max(places, plan.places);
      for (const replay_step& each : plan.steps) bytes = std::max(bytes, each.chosen ? each.bytes : 0);
    }
    player by(places, bytes);
    std::array<std::vector<script>, way_count> scripts;
    for (std::size_t each = 0; each < way_count; ++each) {
      const auto what = static_cast<way>(each);
      const bool is_of_copy = what == way::as_copy || what == way::unmade;
      is_there_[each] = is_of_copy ? job.is_copied_text : what != way::reserved || job.reserved_bytes != 0;
      if (is_there_[each]) scripts[each] = scripts_of(job, what);
    }
    // Of each script the least of some rounds: what else runs on the machine only ever adds. With the middle one, ten
    // programs were predicted a tenth higher.
    std::array<std::array<std::vector<double>, way_count>, beside_count> least;
    for (auto& of_all : least) {
      for (std::size_t each = 0; each < way_count; ++each) of_all[each].resize(scripts[each].size());
    }
    for (int round = 0; round <= rounds; ++round) {  // the first one is of no use
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
  static constexpr int rounds = 7;

  std::array<bool, way_count> is_there_{};
  std::array<std::array<double, way_count>, beside_count> ns_{};
  double count_ = 1;
};

replayed play(const replay_job& job) {
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
  // What is inline and some instructions long hides behind the surprise, where a call does not.
  made.pooled.surprised = made.arena.surprised = made.now.surprised;
  return made;
}

}  // namespace

std::vector<replayed> replay(std::vector<replay_job> jobs) {
  if (!std::all_of(jobs.begin(), jobs.end(), makes_sense)) fail(exit_code::usage, "steps that cannot be repeated");
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
  std::thread([] {}).join();  // from here on the C library takes the ways of a process with threads
  play_all(false);
  return all;
}

}  // namespace tarn::command
