// Turns the steps of a replay (profiler/predict/trace.hpp) into calls to the compared allocators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tarn/detail/fast_path.hpp>
#include <vector>

#include "profiler/predict/remedies.hpp"
#include "profiler/predict/trace.hpp"

namespace tarn::command {

using analyse::replay_method;
constexpr std::size_t replay_method_count = static_cast<std::size_t>(replay_method::count);
// Returns whether the job has the data that this method needs.
bool has_method(const analyse::replay_job& job, replay_method method);

enum class op : std::uint8_t {
  no_op,
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
constexpr std::uint32_t page_bytes = 4096;  // a block larger than this is touched page by page

struct action {
  op does;
  detail::size_class size;  // of a pooled block; code with a pool knows it at compile time
  std::uint32_t slot, source, bytes;
  std::uint32_t old_bytes;  // bytes of the block or content of the slot `source`
};
struct script {
  std::vector<action> before, steps, after;
};

// Returns one script for each plan. Every method has the same number of actions for a step, so that the work between
// them is the same. The allocator of a block decides which action releases or resizes it.
std::vector<script> scripts_of(const analyse::replay_job& job, replay_method method);

// Returns false where a step names a slot that the plan does not have, fills one that is taken, or uses one that is
// empty.
bool is_playable(const analyse::replay_job& job);

}  // namespace tarn::command
