#include "profiler/predict/replay.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <tarn/arena.hpp>
#include <tarn/detail/fast_path.hpp>
#include <tarn/recycle.hpp>
#include <thread>

#include "profiler/base/failure.hpp"
#include "profiler/predict/pairs.hpp"
#include "profiler/predict/replay_script.hpp"

namespace tarn::command {
namespace {

using analyse::replay_job;
using analyse::replay_plan;
using analyse::replay_step;
using analyse::replayed;

// The extremes of the program's work between two steps, which is not known; the names are those of call_ns.
enum class surroundings : std::size_t {
  overlapping,   // no work: the calls overlap with one another
  mispredicted,  // branches that no processor can predict; after them it also mispredicts those of the allocator
  hidden,        // a chain of dependent operations, which leaves the CPU time for the calls
  count,
};
constexpr std::size_t surroundings_count = static_cast<std::size_t>(surroundings::count);

class other_work {
 public:
  [[gnu::noinline]] std::uint64_t mispredict() {
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
  [[gnu::noinline]] std::uint64_t run_chain() {
    for (int left = 16; left > 0; --left) {
      chain_ *= 0x9fb21c651e98df25ULL;
      asm volatile("" : "+r"(chain_));
    }
    return chain_;
  }

 private:
  static constexpr unsigned branches = 4;

  std::uint64_t state_ = 1, chain_ = 1;
  std::array<unsigned char, 4096> data_{};
};

std::ptrdiff_t warm_steps(std::size_t steps) { return static_cast<std::ptrdiff_t>(steps / 4); }

class player {
 public:
  player(std::uint32_t max_slots, std::uint32_t max_bytes)
      : source_(max_text_bytes, 'x'),
        copy_(source_),
        blocks_(max_slots),
        texts_(new text_slot[max_slots]),
        kept_buffer_(max_bytes) {}

  // Returns the nanoseconds of the last three quarters of a script; the first quarter warms the caches.
  double play(const script& script, surroundings work) {
    const auto begin = script.steps.begin();
    run<surroundings::overlapping>(script.before);
    run(std::span(begin, begin + warm_steps(script.steps.size())), work);
    const double begun = thread_ns();
    run(std::span(begin + warm_steps(script.steps.size()), script.steps.end()), work);
    const double ns = thread_ns() - begun;
    run<surroundings::overlapping>(script.after);
    arena_.reset();
    return ns;
  }

 private:
  static constexpr std::size_t max_text_bytes = 64 * 1024;
  struct text_slot {
    alignas(std::string) std::byte bytes[sizeof(std::string)];
  };

  std::string& text_at(std::uint32_t slot) { return *std::launder(reinterpret_cast<std::string*>(texts_[slot].bytes)); }
  // Returns a text that takes `bytes` bytes with the 0 at its end.
  std::string_view text_of(std::uint32_t bytes) const {
    return std::string_view(source_).substr(0, bytes == 0 ? 0 : bytes - 1);
  }

  // Reads the text, since a program makes a text to read it. Bytes written just before are slower to read
  // than bytes that were there already.
  unsigned read(std::string_view text) const {
    return static_cast<unsigned>(std::memcmp(text.data(), copy_.data(), text.size()));
  }
  void copy(void* target, const action& step) {
    std::memcpy(target, blocks_[step.source], std::min(step.bytes, step.old_bytes));
  }

  void run(std::span<const action> steps, surroundings work) {
    switch (work) {
      case surroundings::mispredicted: return run<surroundings::mispredicted>(steps);
      case surroundings::hidden: return run<surroundings::hidden>(steps);
      default: return run<surroundings::overlapping>(steps);
    }
  }

  // Fills the new part of a block as a container would. In a large block the first touch of a page may take the most
  // time. The filling itself is the program's own work, with and without a remedy.
  static void fill(char* block, const action& step) {
    for (std::uint32_t offset = step.old_bytes / page_bytes * page_bytes; offset < step.bytes; offset += page_bytes)
      touch(block + offset);
  }

  template <surroundings Around>
  [[gnu::noinline]] void run(std::span<const action> steps) {
    std::uint64_t sum = 0;
    const action* const end = steps.data() + steps.size();
    for (const action* step = steps.data(); step != end; ++step) {
      if constexpr (Around == surroundings::mispredicted) sum += work_.mispredict();
      if constexpr (Around == surroundings::hidden) sum += work_.run_chain();
      void*& block = blocks_[step->slot];
      switch (step->does) {
        case op::no_op: break;
        case op::allocate: touch(block = std::malloc(step->bytes)); break;
        case op::release: std::free(block); break;
        case op::allocate_new: touch(block = ::operator new(step->bytes)); break;
        case op::release_new: ::operator delete(block); break;
        case op::resize: block = std::realloc(blocks_[step->source], step->bytes); break;
        case op::grow: copy(block = std::malloc(step->bytes), *step); break;
        case op::grow_new: copy(block = ::operator new(step->bytes), *step); break;
        case op::take_over: block = blocks_[step->source]; break;
        case op::make_text:
          ::new (texts_[step->slot].bytes) std::string(text_of(step->bytes));
          sum += read(text_at(step->slot));
          break;
        case op::read_text: sum += read(text_of(step->bytes)); break;
        case op::end_text: std::destroy_at(&text_at(step->slot)); break;
        case op::recycle: touch(recycle<std::string>()->data()); break;
        case op::fill: fill(static_cast<char*>(block), *step); break;
        case op::fill_kept: fill(kept_buffer_.data(), *step); break;
        case op::allocate_pooled: touch(block = detail::allocate(detail::local_heap, step->size)); break;
        case op::release_pooled: detail::deallocate(detail::local_heap, block, step->size); break;
        case op::allocate_large: touch(block = detail::allocate_any(detail::local_heap, step->bytes, 8)); break;
        case op::release_large: detail::deallocate_slow(detail::local_heap, block); break;
        case op::resize_pooled:
          copy(block = detail::allocate(detail::local_heap, step->bytes, 8), *step);
          detail::deallocate(detail::local_heap, blocks_[step->source], step->old_bytes, 8);
          break;
        case op::grow_pooled: copy(block = detail::allocate(detail::local_heap, step->bytes, 8), *step); break;
        case op::allocate_arena: touch(block = arena_.allocate(step->bytes)); break;
      }
    }
    asm volatile("" : : "r"(sum) : "memory");
  }

  other_work work_;
  std::string source_, copy_;
  std::vector<void*> blocks_;
  std::unique_ptr<text_slot[]> texts_;
  std::vector<char> kept_buffer_;
  arena arena_;
};

double timed_allocations(const replay_job& job) {
  std::size_t count = 0;
  for (const replay_plan& plan : job.plans) {
    count += static_cast<std::size_t>(
        std::count_if(plan.steps.begin() + warm_steps(plan.steps.size()), plan.steps.end(),
                      [](const replay_step& step) { return step.is_chosen && step.kind != replay_step::release; }));
  }
  return static_cast<double>(count);
}

// Measures the nanoseconds of each method for a chosen allocation, beside each kind of other work.
class times {
 public:
  // Without `has_remedies`, only the present cost of the calls is measured.
  explicit times(const replay_job& job, bool has_remedies, int rounds) {
    std::uint32_t slots = 0, bytes = 0;
    for (const replay_plan& plan : job.plans) {
      slots = std::max(slots, plan.slots);
      for (const auto* const steps : {&plan.before, &plan.steps, &plan.after}) {
        for (const replay_step& step : *steps) bytes = std::max(bytes, step.is_chosen ? step.bytes : 0);
      }
    }
    player replayer(slots, bytes);
    std::array<std::vector<script>, replay_method_count> scripts;
    for (std::size_t index = 0; index < replay_method_count; ++index) {
      const auto method = static_cast<replay_method>(index);
      const bool is_wanted =
          method == replay_method::as_is || (!job.is_whole && (has_remedies || method == replay_method::omitted));
      is_measured_[index] = is_wanted && has_method(job, method);
      if (is_measured_[index]) scripts[index] = scripts_of(job, method);
    }
    // Takes the minimum of some rounds for each script, because other load on the machine only ever adds time. With
    // the median, ten programs were predicted a tenth higher.
    std::array<std::array<std::vector<double>, replay_method_count>, surroundings_count> min_ns;
    for (auto& best_of_method : min_ns) {
      for (std::size_t index = 0; index < replay_method_count; ++index)
        best_of_method[index].resize(scripts[index].size());
    }
    for (int round = 0; round <= rounds; ++round) {  // the first round is not used
      for (std::size_t index = 0; index < replay_method_count; ++index) {
        for (std::size_t script_index = 0; script_index < scripts[index].size(); ++script_index) {
          for (std::size_t work = 0; work < surroundings_count; ++work) {
            const double ns = replayer.play(scripts[index][script_index], static_cast<surroundings>(work));
            double& best = min_ns[work][index][script_index];
            best = round <= 1 ? ns : std::min(best, ns);
          }
        }
      }
    }
    for (std::size_t work = 0; work < surroundings_count; ++work) {
      for (std::size_t index = 0; index < replay_method_count; ++index)
        ns_[work][index] = std::accumulate(min_ns[work][index].begin(), min_ns[work][index].end(), 0.0);
    }
    count_ = timed_allocations(job);
  }

  bool has(replay_method method) const { return is_measured_[static_cast<std::size_t>(method)]; }
  double time_of(replay_method method, surroundings work) const {
    return ns_[static_cast<std::size_t>(work)][static_cast<std::size_t>(method)] / count_;
  }
  double saved_ns(replay_method before, replay_method after, surroundings work) const {
    return time_of(before, work) - time_of(after, work);
  }

 private:
  std::array<bool, replay_method_count> is_measured_{};
  std::array<std::array<double, replay_method_count>, surroundings_count> ns_{};
  double count_ = 1;
};

constexpr double min_timed = 64;  // allocations; below this the clock's own error is most of the result

replayed play(const replay_job& job, bool has_remedies) {
  if (timed_allocations(job) < min_timed) return {};
  const times measured(job, has_remedies, has_remedies ? 7 : 2);
  const auto saved_ns = [&](replay_method before, replay_method after) -> analyse::call_ns {
    if (!measured.has(before) || !measured.has(after)) return {};
    return {measured.saved_ns(before, after, surroundings::overlapping),
            measured.saved_ns(before, after, surroundings::mispredicted),
            measured.saved_ns(before, after, surroundings::hidden)};
  };
  replayed result;
  if (job.is_whole) {  // blocks from before the excerpts are part of it, too
    result.now = {measured.time_of(replay_method::as_is, surroundings::overlapping),
                  measured.time_of(replay_method::as_is, surroundings::mispredicted),
                  measured.time_of(replay_method::as_is, surroundings::hidden)};
    return result;
  }
  result.now = saved_ns(replay_method::as_is, replay_method::omitted);
  for (const analyse::remedy_facts& remedy : analyse::remedies) {
    if (remedy.saving == nullptr || remedy.method == replay_method::as_is) continue;
    result.*remedy.saving = saved_ns(replay_method::as_is, remedy.method);
    // Inlined calls of a few instructions hide behind the branch misprediction, where a library call does not.
    if (remedy.is_inlined) (result.*remedy.saving).mispredicted = result.now.mispredicted;
  }
  if (job.is_copied_text) result.hoist = saved_ns(replay_method::as_copy, replay_method::viewed);
  return result;
}

void check_playable(const replay_job& job) {
  if (!is_playable(job))
    fail(exit_code::io_error,
         "a trace excerpt cannot be replayed: the recording is damaged, so record once more, or add --quick");
}

}  // namespace

std::vector<replayed> replay(std::vector<replay_job> jobs, replay_scope scope) {
  for (const replay_job& job : jobs) check_playable(job);
  const auto play = [scope](const replay_job& job) { return command::play(job, scope == replay_scope::remedies); };
  std::vector<replayed> results(jobs.size());
  const auto play_all = [&](bool has_one_thread) {
    for (std::size_t index = 0; index < jobs.size(); ++index) {
      if (jobs[index].has_one_thread != has_one_thread) continue;
      if (jobs[index].is_of_first_thread) {
        results[index] = play(jobs[index]);
      } else {
        std::thread([&] { results[index] = play(jobs[index]); }).join();
      }
    }
  };
  play_all(true);
  std::thread([] {}).join();  // from here on the C library takes the paths of a process with threads
  play_all(false);
  return results;
}

void rehearse(const replay_job& job) {
  check_playable(job);
  const times rehearsed(job, true, 0);
}

}  // namespace tarn::command
