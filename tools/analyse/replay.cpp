#include "analyse/replay.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "format/code.hpp"

namespace tarn::analyse {
namespace {

using format::excerpt_kind;
using format::excerpt_step;

// A growing container allocates, moves its content and releases the old buffer within this many steps.
constexpr std::size_t steps_of_growth = 4;

struct known_block {
  std::uint32_t place, bytes;
  bool chosen;
};

class planner {
 public:
  planner(const format::excerpt_facts& of, const std::vector<std::uint32_t>& chosen) : of_(of.steps), chosen_(chosen) {}

  replay_plan plan() {
    find_old();
    for (std::size_t at = 0; at < of_.size(); ++at) add(at);
    std::vector<known_block> left;
    for (const auto& [address, block] : here_) left.push_back(block);
    left.insert(left.end(), freed_elsewhere_.begin(), freed_elsewhere_.end());
    std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
    for (const known_block& each : left)
      made_.after.push_back({replay_step::release, each.chosen, false, each.place, 0, each.bytes});
    return std::move(made_);
  }

 private:
  // Blocks from before the excerpt are allocated first, in the order of their addresses.
  void find_old() {
    std::vector<excerpt_step> old;
    std::unordered_map<std::uint64_t, bool> made;
    for (const excerpt_step& each : of_) {
      if (each.is == excerpt_kind::allocate) {
        made[each.address] = true;
      } else if (!std::exchange(made[each.address], false)) {
        old.push_back(each);
      }
    }
    std::sort(old.begin(), old.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    for (const excerpt_step& each : old) {
      if (here_.contains(each.address)) continue;  // another thread freed the earlier one in between
      here_[each.address] = {made_.places, each.bytes, false};
      made_.before.push_back({replay_step::allocate, false, false, made_.places++, 0, each.bytes});
    }
  }

  void add(std::size_t at) {
    const excerpt_step& now = of_[at];
    if (now.is == excerpt_kind::resize) {
      // The next step allocates the new block; a resize at the end of the excerpt is ignored.
      resized_ = at + 1 < of_.size() && of_[at + 1].is == excerpt_kind::allocate ? now.address : 0;
      return;
    }
    if (now.is == excerpt_kind::release) {
      const auto found = here_.find(now.address);
      if (found == here_.end()) return;
      const known_block& block = found->second;
      const bool outgrown = outgrown_ == block.place;
      if (outgrown) outgrown_ = none;
      made_.steps.push_back({replay_step::release, block.chosen, outgrown, block.place, 0, block.bytes});
      here_.erase(found);
      return;
    }
    const bool chosen = std::binary_search(chosen_.begin(), chosen_.end(), now.site);
    const std::uint32_t place = made_.places++;
    replay_step step{replay_step::allocate, chosen, false, place, 0, now.bytes};
    if (const auto old = resized_ == 0 ? here_.end() : here_.find(resized_); old != here_.end()) {
      step.is = replay_step::resize;
      step.from = old->second.place;
      here_.erase(old);
    } else if (chosen) {
      if (const known_block* const smaller = grown_from(at)) {
        step.is = replay_step::grow;
        step.from = outgrown_ = smaller->place;
      }
    }
    resized_ = 0;
    made_.steps.push_back(step);
    const known_block block{place, now.bytes, chosen};
    const auto [there, is_new] = here_.try_emplace(now.address, block);
    if (!is_new) freed_elsewhere_.push_back(std::exchange(there->second, block));
  }

  // Returns the smaller block of the same site that is released next.
  const known_block* grown_from(std::size_t at) const {
    for (std::size_t next = at + 1; next < std::min(of_.size(), at + 1 + steps_of_growth); ++next) {
      const excerpt_step& each = of_[next];
      if (each.is != excerpt_kind::release) return nullptr;
      const auto found = here_.find(each.address);
      if (found != here_.end() && found->second.chosen)
        return found->second.bytes < of_[at].bytes ? &found->second : nullptr;
    }
    return nullptr;
  }

  static constexpr std::uint32_t none = ~0U;

  const std::vector<excerpt_step>& of_;
  const std::vector<std::uint32_t>& chosen_;
  std::unordered_map<std::uint64_t, known_block> here_;
  std::vector<known_block> freed_elsewhere_;  // another thread freed them: their addresses were reused
  std::uint64_t resized_ = 0;
  std::uint32_t outgrown_ = none;
  replay_plan made_;
};

void put(format::encoder& to, const std::vector<replay_step>& steps) {
  to.number(steps.size());
  for (const replay_step& each : steps) {
    to.number(static_cast<std::uint64_t>(each.is) | (each.chosen ? 4U : 0U) | (each.outgrown ? 8U : 0U));
    to.number(each.place);
    if (each.is > replay_step::release) to.number(each.from);
    to.number(each.bytes);
  }
}

std::uint32_t small(format::decoder& from) { return static_cast<std::uint32_t>(from.number(~0U)); }

std::vector<replay_step> steps_from(format::decoder& from) {
  std::vector<replay_step> steps;
  for (std::uint64_t left = from.number(); left > 0; --left) {
    replay_step each;
    const std::uint64_t what = from.number(15);
    each.is = static_cast<replay_step::kind>(what & 3U);
    each.chosen = (what & 4U) != 0;
    each.outgrown = (what & 8U) != 0;
    each.place = small(from);
    if (each.is > replay_step::release) each.from = small(from);
    each.bytes = small(from);
    steps.push_back(each);
  }
  return steps;
}

constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;  // memory limit of the report for one plan

// Returns the peak of the bytes in all live blocks if each chosen block has at least `reserved` bytes.
std::uint64_t most_alive(const replay_plan& of, std::uint64_t reserved = 0) {
  std::vector<std::uint64_t> bytes(of.places);
  std::uint64_t now = 0, most = 0;
  for (const auto* const steps : {&of.before, &of.steps}) {
    for (const replay_step& each : *steps) {
      if (each.is == replay_step::release) {
        now -= std::exchange(bytes[each.place], 0);
        continue;
      }
      if (each.is == replay_step::resize) now -= std::exchange(bytes[each.from], 0);
      now += bytes[each.place] = each.chosen ? std::max<std::uint64_t>(each.bytes, reserved) : each.bytes;
      most = std::max(most, now);
    }
  }
  return most;
}

constexpr std::array remedies = {&replayed::now,    &replayed::hoist, &replayed::recycle,
                                 &replayed::pooled, &replayed::arena, &replayed::reserve};
constexpr std::array names = {"now", "hoist", "recycle", "pooled", "arena", "reserve"};

}  // namespace

replay_plan plan_of(const format::excerpt_facts& of, const std::vector<std::uint32_t>& chosen) {
  return planner(of, chosen).plan();
}

replay_job job_of(const format::recording& in, const std::vector<std::uint32_t>& chosen) {
  constexpr std::size_t most_plans = 6, least_blocks = 256;
  if (in.excerpts.empty() || chosen.empty()) return {};
  const std::uint32_t image = in.sites[chosen.front()].image;
  std::uint32_t threads = 0, first_thread = ~0U;
  for (std::uint32_t at = 0; at < in.threads.size(); ++at) {
    if (in.threads[at].image != image) continue;
    first_thread = std::min(first_thread, at);
    ++threads;
  }
  struct part {
    const format::excerpt_facts* of;
    std::size_t blocks;
  };
  std::array<std::vector<part>, 2> parts;  // other threads, then the first thread
  std::array<std::size_t, 2> blocks{};
  for (const format::excerpt_facts& each : in.excerpts) {
    const auto count =
        static_cast<std::size_t>(std::count_if(each.steps.begin(), each.steps.end(), [&](const excerpt_step& step) {
          return step.is == excerpt_kind::allocate && std::binary_search(chosen.begin(), chosen.end(), step.site);
        }));
    const std::size_t whose = each.thread == first_thread ? 1 : 0;
    if (count != 0) parts[whose].push_back({&each, count});
    blocks[whose] += count;
  }
  replay_job job;
  job.alone = threads == 1;
  job.first_thread = blocks[1] >= blocks[0];
  std::vector<part>& mine = parts[job.first_thread ? 1 : 0];
  std::stable_sort(mine.begin(), mine.end(), [](const part& a, const part& b) { return a.blocks > b.blocks; });
  if (mine.size() > most_plans) mine.resize(most_plans);
  std::size_t all = 0;
  for (const part& each : mine) all += each.blocks;
  if (all < least_blocks) return {};
  for (const part& each : mine) {
    replay_plan plan = plan_of(*each.of, chosen);
    if (most_alive(plan) > most_bytes) return {};
    job.plans.push_back(std::move(plan));
  }
  return job;
}

void reserve(replay_job& in, std::uint64_t bytes) {
  const bool has_memory = std::all_of(in.plans.begin(), in.plans.end(),
                                      [&](const replay_plan& each) { return most_alive(each, bytes) <= most_bytes; });
  in.reserved_bytes = has_memory ? static_cast<std::uint32_t>(std::min(bytes, most_bytes)) : 0;
}

std::string bytes_of(const std::vector<replay_job>& jobs) {
  format::encoder to;
  for (const replay_job& each : jobs) {
    to.number((each.alone ? 1U : 0U) | (each.first_thread ? 2U : 0U) | (each.by_new ? 4U : 0U) |
              (each.is_copied_text ? 8U : 0U) | (each.is_filled ? 16U : 0U));
    to.number(each.reserved_bytes);
    to.number(each.plans.size());
    for (const replay_plan& plan : each.plans) {
      to.number(plan.places);
      for (const auto* const steps : {&plan.before, &plan.steps, &plan.after}) put(to, *steps);
    }
  }
  return to.bytes();
}

std::vector<replay_job> jobs_from(std::string_view bytes) {
  format::decoder from(bytes);
  std::vector<replay_job> jobs;
  while (!from.at_end()) {
    replay_job& each = jobs.emplace_back();
    const std::uint64_t how = from.number(31);
    each.alone = (how & 1U) != 0;
    each.first_thread = (how & 2U) != 0;
    each.by_new = (how & 4U) != 0;
    each.is_copied_text = (how & 8U) != 0;
    each.is_filled = (how & 16U) != 0;
    each.reserved_bytes = small(from);
    for (std::uint64_t left = from.number(); left > 0; --left) {
      replay_plan& plan = each.plans.emplace_back();
      plan.places = small(from);
      for (auto* const steps : {&plan.before, &plan.steps, &plan.after}) *steps = steps_from(from);
    }
  }
  return jobs;
}

std::string json_of(const std::vector<replayed>& all) {
  nlohmann::json made = nlohmann::json::array();
  for (const replayed& each : all) {
    nlohmann::json& one = made.emplace_back();
    for (std::size_t at = 0; at < remedies.size(); ++at)
      one[names[at]] = {(each.*remedies[at]).overlapping, (each.*remedies[at]).surprised, (each.*remedies[at]).hidden};
  }
  return made.dump();
}

std::vector<replayed> replayed_from(const std::string& json) {
  std::vector<replayed> all;
  for (const nlohmann::json& each : nlohmann::json::parse(json)) {
    replayed& one = all.emplace_back();
    for (std::size_t at = 0; at < remedies.size(); ++at) {
      one.*remedies[at] = {each.at(names[at]).at(0), each.at(names[at]).at(1), each.at(names[at]).at(2)};
    }
  }
  return all;
}

}  // namespace tarn::analyse
