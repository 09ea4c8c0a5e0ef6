#include "profiler/predict/trace.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "profiler/format/code.hpp"
#include "profiler/predict/remedies.hpp"

namespace tarn::analyse {
namespace {

using format::excerpt_event;
using format::excerpt_kind;

// The most steps in which a growing container allocates, moves its content and releases the old buffer.
constexpr std::size_t steps_of_growth = 4;

struct live_block {
  std::uint32_t slot, bytes;
  bool is_chosen;
};

class planner {
 public:
  planner(const format::excerpt_facts& excerpt, const std::vector<std::uint32_t>& sites)
      : events_(excerpt.events), sites_(sites) {}

  replay_plan plan() {
    find_old();
    for (std::size_t index = 0; index < events_.size(); ++index) add(index);
    std::vector<live_block> left;
    for (const auto& [address, block] : live_blocks_) left.push_back(block);
    left.insert(left.end(), freed_elsewhere_.begin(), freed_elsewhere_.end());
    std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
    for (const live_block& block : left)
      plan_.after.push_back({replay_step::release, block.is_chosen, false, block.slot, 0, block.bytes});
    return std::move(plan_);
  }

 private:
  // Blocks from before the excerpt are allocated first, in the order of their addresses.
  void find_old() {
    std::vector<excerpt_event> old;
    std::unordered_map<std::uint64_t, bool> is_allocated;
    for (const excerpt_event& event : events_) {
      if (event.kind == excerpt_kind::allocate) {
        is_allocated[event.address] = true;
      } else if (!std::exchange(is_allocated[event.address], false)) {
        old.push_back(event);
      }
    }
    std::sort(old.begin(), old.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    for (const excerpt_event& event : old) {
      if (live_blocks_.contains(event.address)) continue;  // another thread freed the earlier one in between
      live_blocks_[event.address] = {plan_.slots, event.bytes, false};
      plan_.before.push_back({replay_step::allocate, false, false, plan_.slots++, 0, event.bytes});
    }
  }

  void add(std::size_t index) {
    const excerpt_event& now = events_[index];
    if (now.kind == excerpt_kind::resize) {
      // The next step allocates the new block; a resize at the end of the excerpt is ignored.
      resized_ = index + 1 < events_.size() && events_[index + 1].kind == excerpt_kind::allocate ? now.address : 0;
      return;
    }
    if (now.kind == excerpt_kind::release) {
      const auto match = live_blocks_.find(now.address);
      if (match == live_blocks_.end()) return;
      const live_block& block = match->second;
      const bool is_outgrown = outgrown_ == block.slot;
      if (is_outgrown) outgrown_ = no_slot;
      plan_.steps.push_back({replay_step::release, block.is_chosen, is_outgrown, block.slot, 0, block.bytes});
      live_blocks_.erase(match);
      return;
    }
    const bool is_chosen = std::binary_search(sites_.begin(), sites_.end(), now.site);
    const std::uint32_t slot = plan_.slots++;
    replay_step step{replay_step::allocate, is_chosen, false, slot, 0, now.bytes};
    if (const auto old = resized_ == 0 ? live_blocks_.end() : live_blocks_.find(resized_); old != live_blocks_.end()) {
      step.kind = replay_step::resize;
      step.source_slot = old->second.slot;
      live_blocks_.erase(old);
    } else if (is_chosen) {
      if (const live_block* const smaller = grown_from(index)) {
        step.kind = replay_step::grow;
        step.source_slot = outgrown_ = smaller->slot;
      }
    }
    resized_ = 0;
    plan_.steps.push_back(step);
    const live_block block{slot, now.bytes, is_chosen};
    const auto [match, is_new] = live_blocks_.try_emplace(now.address, block);
    if (!is_new) freed_elsewhere_.push_back(std::exchange(match->second, block));
  }

  // Returns the smaller block of the same site that is released next.
  const live_block* grown_from(std::size_t index) const {
    for (std::size_t next = index + 1; next < std::min(events_.size(), index + 1 + steps_of_growth); ++next) {
      const excerpt_event& event = events_[next];
      if (event.kind != excerpt_kind::release) return nullptr;
      const auto match = live_blocks_.find(event.address);
      if (match != live_blocks_.end() && match->second.is_chosen)
        return match->second.bytes < events_[index].bytes ? &match->second : nullptr;
    }
    return nullptr;
  }

  static constexpr std::uint32_t no_slot = ~0U;

  const std::vector<excerpt_event>& events_;
  const std::vector<std::uint32_t>& sites_;
  std::unordered_map<std::uint64_t, live_block> live_blocks_;
  std::vector<live_block> freed_elsewhere_;  // another thread freed them: their addresses were reused
  std::uint64_t resized_ = 0;
  std::uint32_t outgrown_ = no_slot;
  replay_plan plan_;
};

void put(format::encoder& output, const std::vector<replay_step>& steps) {
  output.number(steps.size());
  for (const replay_step& step : steps) {
    output.number(static_cast<std::uint64_t>(step.kind) | (step.is_chosen ? 4U : 0U) | (step.is_outgrown ? 8U : 0U));
    output.number(step.slot);
    if (step.kind > replay_step::release) output.number(step.source_slot);
    output.number(step.bytes);
  }
}

std::uint32_t small(format::decoder& input) { return static_cast<std::uint32_t>(input.number(~0U)); }

std::vector<replay_step> steps_from(format::decoder& input) {
  std::vector<replay_step> steps;
  for (std::uint64_t left = input.number(); left > 0; --left) {
    replay_step step;
    const std::uint64_t flags = input.number(15);
    step.kind = static_cast<replay_step::step_kind>(flags & 3U);
    step.is_chosen = (flags & 4U) != 0;
    step.is_outgrown = (flags & 8U) != 0;
    step.slot = small(input);
    if (step.kind > replay_step::release) step.source_slot = small(input);
    step.bytes = small(input);
    steps.push_back(step);
  }
  return steps;
}

constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;  // memory limit of the report for one plan

// Returns the peak of the bytes in all live blocks if each chosen block has at least `reserved` bytes.
std::uint64_t max_live_bytes(const replay_plan& plan, std::uint64_t reserved = 0) {
  std::vector<std::uint64_t> bytes(plan.slots);
  std::uint64_t now = 0, highest = 0;
  for (const auto* const steps : {&plan.before, &plan.steps}) {
    for (const replay_step& step : *steps) {
      if (step.kind == replay_step::release) {
        now -= std::exchange(bytes[step.slot], 0);
        continue;
      }
      if (step.kind == replay_step::resize) now -= std::exchange(bytes[step.source_slot], 0);
      now += bytes[step.slot] = step.is_chosen ? std::max<std::uint64_t>(step.bytes, reserved) : step.bytes;
      highest = std::max(highest, now);
    }
  }
  return highest;
}

nlohmann::json json_of(const call_ns& call) { return {call.overlapping, call.mispredicted, call.hidden}; }
call_ns call_from(const nlohmann::json& numbers) { return {numbers.at(0), numbers.at(1), numbers.at(2)}; }

}  // namespace

replay_plan plan_of(const format::excerpt_facts& excerpt, const std::vector<std::uint32_t>& sites) {
  return planner(excerpt, sites).plan();
}

replay_job job_of(const format::recording& recording, const std::vector<std::uint32_t>& sites) {
  constexpr std::size_t max_plans = 6, min_blocks = 256;
  if (recording.excerpts.empty() || sites.empty()) return {};
  const std::uint32_t image = recording.sites[sites.front()].image;
  std::uint32_t threads = 0, first_thread = ~0U;
  for (std::uint32_t index = 0; index < recording.threads.size(); ++index) {
    if (recording.threads[index].image != image) continue;
    first_thread = std::min(first_thread, index);
    ++threads;
  }
  struct part {
    const format::excerpt_facts* excerpt;
    std::size_t blocks;
  };
  std::array<std::vector<part>, 2> parts;  // other threads, then the first thread
  std::array<std::size_t, 2> blocks{};
  for (const format::excerpt_facts& candidate : recording.excerpts) {
    const auto count = static_cast<std::size_t>(
        std::count_if(candidate.events.begin(), candidate.events.end(), [&](const excerpt_event& step) {
          return step.kind == excerpt_kind::allocate && std::binary_search(sites.begin(), sites.end(), step.site);
        }));
    const std::size_t owner = candidate.thread == first_thread ? 1 : 0;
    if (count != 0) parts[owner].push_back({&candidate, count});
    blocks[owner] += count;
  }
  replay_job job;
  job.has_one_thread = threads == 1;
  job.is_of_first_thread = blocks[1] >= blocks[0];
  std::vector<part>& own_parts = parts[job.is_of_first_thread ? 1 : 0];
  std::stable_sort(own_parts.begin(), own_parts.end(),
                   [](const part& a, const part& b) { return a.blocks > b.blocks; });
  if (own_parts.size() > max_plans) own_parts.resize(max_plans);
  std::size_t allocations = 0;
  for (const part& candidate : own_parts) allocations += candidate.blocks;
  if (allocations < min_blocks) return {};
  for (const part& candidate : own_parts) {
    replay_plan plan = plan_of(*candidate.excerpt, sites);
    if (max_live_bytes(plan) > max_bytes) return {};
    job.plans.push_back(std::move(plan));
  }
  return job;
}

replay_job whole_job_of(const format::recording& recording, const std::vector<std::uint32_t>& sites) {
  replay_job job = job_of(recording, sites);
  job.is_whole = true;
  return job;
}

void reserve(replay_job& job, std::uint64_t bytes) {
  const bool has_memory = std::all_of(job.plans.begin(), job.plans.end(), [&](const replay_plan& plan) {
    return max_live_bytes(plan, bytes) <= max_bytes;
  });
  job.reserved_bytes = has_memory ? static_cast<std::uint32_t>(std::min(bytes, max_bytes)) : 0;
}

std::string encode(const std::vector<replay_job>& jobs) {
  format::encoder output;
  for (const replay_job& job : jobs) {
    output.number((job.has_one_thread ? 1U : 0U) | (job.is_of_first_thread ? 2U : 0U) | (job.uses_new ? 4U : 0U) |
                  (job.is_copied_text ? 8U : 0U) | (job.is_filled ? 16U : 0U) | (job.is_whole ? 32U : 0U));
    output.number(job.reserved_bytes);
    output.number(job.plans.size());
    for (const replay_plan& plan : job.plans) {
      output.number(plan.slots);
      for (const auto* const steps : {&plan.before, &plan.steps, &plan.after}) put(output, *steps);
    }
  }
  return std::string(output.bytes());
}

std::vector<replay_job> decode_jobs(std::string_view bytes) {
  format::decoder input(bytes);
  std::vector<replay_job> jobs;
  while (!input.at_end()) {
    replay_job& job = jobs.emplace_back();
    const std::uint64_t flags = input.number(63);
    job.has_one_thread = (flags & 1U) != 0;
    job.is_of_first_thread = (flags & 2U) != 0;
    job.uses_new = (flags & 4U) != 0;
    job.is_copied_text = (flags & 8U) != 0;
    job.is_filled = (flags & 16U) != 0;
    job.is_whole = (flags & 32U) != 0;
    job.reserved_bytes = small(input);
    for (std::uint64_t left = input.number(); left > 0; --left) {
      replay_plan& plan = job.plans.emplace_back();
      plan.slots = small(input);
      for (auto* const steps : {&plan.before, &plan.steps, &plan.after}) *steps = steps_from(input);
    }
  }
  return jobs;
}

std::string json_of(const std::vector<replayed>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const replayed& result : results) {
    nlohmann::json& entry = list.emplace_back();
    entry["now"] = json_of(result.now);
    for (const remedy_facts& remedy : remedies) {
      if (remedy.saving != nullptr) entry[remedy.name] = json_of(result.*remedy.saving);
    }
  }
  return list.dump();
}

std::vector<replayed> replayed_from(const std::string& json) {
  std::vector<replayed> results;
  for (const nlohmann::json& entry : nlohmann::json::parse(json)) {
    replayed& result = results.emplace_back();
    result.now = call_from(entry.at("now"));
    for (const remedy_facts& remedy : remedies) {
      if (remedy.saving != nullptr) result.*remedy.saving = call_from(entry.at(remedy.name));
    }
  }
  return results;
}

}  // namespace tarn::analyse
