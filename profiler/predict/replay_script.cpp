#include "profiler/predict/replay_script.hpp"

#include <algorithm>

namespace tarn::command {
namespace {

using analyse::replay_job;
using analyse::replay_plan;
using analyse::replay_step;

// The allocator of a slot's memory. The same one resizes and releases the block, because a realloc at a chosen site may
// get a block of a site that is not chosen, and the reverse.
enum class holder : std::uint8_t { no_holder, library, library_new, text, pool, arena };

class script_writer {
 public:
  script_writer(const replay_job& job, replay_method method, std::uint32_t slots)
      : job_(job), method_(method), slots_(slots) {}

  void add(std::vector<action>& actions, const replay_step& step) {
    switch (step.kind) {
      case replay_step::allocate: allocate(actions, step); break;
      case replay_step::release: release(actions, step.slot); break;
      case replay_step::resize: resize(actions, step); break;
      case replay_step::grow: grow(actions, step); break;
    }
  }

 private:
  struct slot_state {
    holder owner = holder::no_holder;
    bool is_chosen = false;
    std::uint32_t capacity = 0, content = 0;  // bytes of the block, and of its content
  };

  holder holder_for(bool is_chosen) const {
    const holder library = is_chosen && job_.uses_new ? holder::library_new : holder::library;
    if (!is_chosen) return library;
    switch (method_) {
      case replay_method::as_is:
      case replay_method::reserved: return library;
      case replay_method::as_copy: return holder::text;
      case replay_method::pooled: return holder::pool;
      case replay_method::arena: return holder::arena;
      default: return holder::no_holder;
    }
  }
  // realloc returns a block of malloc.
  holder resized_by(bool is_chosen) const {
    const holder owner = holder_for(is_chosen);
    return owner == holder::library_new ? holder::library : owner;
  }
  bool has_room(const replay_step& step) const {
    return method_ == replay_method::reserved && step.is_chosen && step.bytes <= job_.reserved_bytes;
  }
  // Returns at least one byte, because every block is touched.
  std::uint32_t bytes_for(const replay_step& step) const {
    return std::max(has_room(step) ? job_.reserved_bytes : step.bytes, 1U);
  }
  static bool is_large(std::uint32_t bytes) { return bytes > detail::largest_class_size; }
  bool has_block(std::uint32_t number) const {
    return slots_[number].owner != holder::no_holder && slots_[number].owner != holder::text;
  }

  static void put(std::vector<action>& actions, op does, std::uint32_t slot, std::uint32_t source_slot,
                  std::uint32_t bytes, std::uint32_t old_bytes) {
    const std::size_t in_class = std::min<std::size_t>(bytes, detail::largest_class_size);
    actions.push_back({does, detail::class_of(in_class), slot, source_slot, bytes, old_bytes});
  }

  op allocates(holder owner, std::uint32_t bytes) const {
    switch (owner) {
      case holder::library: return op::allocate;
      case holder::library_new: return op::allocate_new;
      case holder::text: return op::make_text;
      case holder::pool: return is_large(bytes) ? op::allocate_large : op::allocate_pooled;
      case holder::arena: return op::allocate_arena;
      case holder::no_holder: break;
    }
    return method_ == replay_method::viewed     ? op::read_text
           : method_ == replay_method::recycled ? op::recycle
                                                : op::no_op;
  }
  static op releases(const slot_state& slot) {
    switch (slot.owner) {
      case holder::library: return op::release;
      case holder::library_new: return op::release_new;
      case holder::text: return op::end_text;
      case holder::pool: return is_large(slot.capacity) ? op::release_large : op::release_pooled;
      case holder::arena:
      case holder::no_holder: break;
    }
    return op::no_op;
  }
  // An arena's block is not copied, because code that is written for an arena does not move a growing buffer.
  static op copies(holder owner) {
    switch (owner) {
      case holder::library: return op::grow;
      case holder::library_new: return op::grow_new;
      case holder::pool: return op::grow_pooled;
      case holder::arena: return op::allocate_arena;
      default: return op::no_op;
    }
  }

  void allocate(std::vector<action>& actions, const replay_step& step) {
    const holder owner = holder_for(step.is_chosen);
    put(actions, allocates(owner, bytes_for(step)), step.slot, 0, bytes_for(step), 0);
    note_owner(actions, step, owner, bytes_for(step), 0);
  }

  void release(std::vector<action>& actions, std::uint32_t number) {
    slot_state& slot = slots_[number];
    put(actions, releases(slot), number, 0, slot.capacity, 0);
    slot = {};
  }

  // Makes a larger block beside the one in `step.source_slot`, which a later step releases.
  void grow(std::vector<action>& actions, const replay_step& step) {
    slot_state& old = slots_[step.source_slot];
    const std::uint32_t old_bytes = old.content;
    if (has_room(step) && fits(old, step)) return take_over(actions, step);
    const holder owner = holder_for(step.is_chosen);
    allocate_and_copy(actions, step, owner);
    note_owner(actions, step, owner, bytes_for(step), old_bytes);
  }

  void resize(std::vector<action>& actions, const replay_step& step) {
    slot_state& old = slots_[step.source_slot];
    const std::uint32_t old_bytes = old.content;
    const holder owner = resized_by(step.is_chosen);
    const bool is_separate =
        old.is_chosen != step.is_chosen || job_.is_copied_text || job_.uses_new;  // equal for every method
    if (has_room(step) && fits(old, step)) {
      take_over(actions, step);
      if (is_separate) pad(actions);
      return;
    }
    if (owner == holder::library && old.owner == holder::library) {  // a single realloc
      put(actions, op::resize, step.slot, step.source_slot, bytes_for(step), old_bytes);
      if (is_separate) pad(actions);
    } else if (!is_separate) {  // the same allocator serves both
      const op does = owner == holder::pool ? op::resize_pooled : allocates(owner, bytes_for(step));
      put(actions, does, step.slot, step.source_slot, bytes_for(step),
          owner == holder::pool ? old.capacity : old_bytes);
    } else {
      allocate_and_copy(actions, step, owner);
      put(actions, releases(old), step.source_slot, 0, old.capacity, 0);
    }
    old = {};
    note_owner(actions, step, owner, bytes_for(step), old_bytes);
  }

  void allocate_and_copy(std::vector<action>& actions, const replay_step& step, holder owner) {
    const op does =
        has_block(step.source_slot) && copies(owner) != op::no_op ? copies(owner) : allocates(owner, bytes_for(step));
    put(actions, does, step.slot, step.source_slot, bytes_for(step), slots_[step.source_slot].content);
  }

  static bool fits(const slot_state& old, const replay_step& step) {
    return (old.owner == holder::library || old.owner == holder::library_new) && old.capacity >= step.bytes;
  }
  // Keeps the block of a growing buffer that has room already.
  void take_over(std::vector<action>& actions, const replay_step& step) {
    const slot_state old = slots_[step.source_slot];
    put(actions, op::take_over, step.slot, step.source_slot, old.capacity, 0);
    slots_[step.source_slot] = {};
    note_owner(actions, step, old.owner, old.capacity, old.content);
  }

  // Records the slot's new owner, and fills the block as a container would. A method that makes no block fills a kept
  // buffer instead.
  void note_owner(std::vector<action>& actions, const replay_step& step, holder owner, std::uint32_t capacity,
                  std::uint32_t old_bytes) {
    slots_[step.slot] = {owner, step.is_chosen, capacity, step.bytes};
    const bool is_resized = step.kind > replay_step::release;
    if (!step.is_chosen || step.bytes <= page_bytes || !(job_.is_filled || is_resized)) return;
    if (method_ == replay_method::as_copy || method_ == replay_method::viewed)
      return;  // these methods have texts instead of blocks
    const bool is_kept = method_ == replay_method::omitted || method_ == replay_method::recycled;
    put(actions, is_kept ? op::fill_kept : op::fill, step.slot, 0, step.bytes, old_bytes);
  }
  static void pad(std::vector<action>& actions) { put(actions, op::no_op, 0, 0, 0, 0); }

  const replay_job& job_;
  replay_method method_;
  std::vector<slot_state> slots_;
};

}  // namespace

bool has_method(const replay_job& job, replay_method method) {
  switch (method) {
    case replay_method::as_copy:
    case replay_method::viewed: return job.is_copied_text;
    case replay_method::reserved: return job.reserved_bytes != 0;
    default: return true;
  }
}

std::vector<script> scripts_of(const replay_job& job, replay_method method) {
  std::vector<script> scripts;
  for (const replay_plan& plan : job.plans) {
    script& script_of_plan = scripts.emplace_back();
    script_writer write(job, method, plan.slots);
    for (const replay_step& step : plan.before) write.add(script_of_plan.before, step);
    for (const replay_step& step : plan.steps) write.add(script_of_plan.steps, step);
    for (const replay_step& step : plan.after) write.add(script_of_plan.after, step);
  }
  return scripts;
}

bool is_playable(const replay_job& job) {
  for (const replay_plan& plan : job.plans) {
    std::vector<bool> is_there(plan.slots);
    for (const auto* const steps : {&plan.before, &plan.steps, &plan.after}) {
      for (const replay_step& step : *steps) {
        if (step.slot >= plan.slots || step.source_slot >= plan.slots) return false;
        if (step.kind == replay_step::release ? !is_there[step.slot] : is_there[step.slot]) return false;
        if (step.kind > replay_step::release && !is_there[step.source_slot]) return false;
        is_there[step.slot] = step.kind != replay_step::release;
        if (step.kind == replay_step::resize) is_there[step.source_slot] = false;
      }
    }
  }
  return true;
}

}  // namespace tarn::command
