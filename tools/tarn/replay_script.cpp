#include "tarn/replay_script.hpp"

#include <algorithm>

namespace tarn::command {
namespace {

using analyse::replay_job;
using analyse::replay_plan;
using analyse::replay_step;

// Names who allocated the memory of a place. The same allocator resizes and releases the block, because a realloc at
// a chosen site may get a block of a site that is not chosen, and the other way round.
enum class holder : std::uint8_t { nobody, library, library_new, text, pool, arena };

class script_writer {
 public:
  script_writer(const replay_job& job, way by, std::uint32_t places) : job_(job), by_(by), at_(places) {}

  void add(std::vector<action>& to, const replay_step& step) {
    switch (step.is) {
      case replay_step::allocate: allocate(to, step); break;
      case replay_step::release: release(to, step.place); break;
      case replay_step::resize: resize(to, step); break;
      case replay_step::grow: grow(to, step); break;
    }
  }

 private:
  struct place {
    holder by = holder::nobody;
    bool chosen = false;
    std::uint32_t held = 0, content = 0;  // bytes of the block, and of its content
  };

  holder holder_for(bool chosen) const {
    const holder library = chosen && job_.by_new ? holder::library_new : holder::library;
    if (!chosen) return library;
    switch (by_) {
      case way::as_is:
      case way::reserved: return library;
      case way::as_copy: return holder::text;
      case way::pooled: return holder::pool;
      case way::arena: return holder::arena;
      default: return holder::nobody;
    }
  }
  // realloc returns a block of malloc.
  holder resized_by(bool chosen) const {
    const holder by = holder_for(chosen);
    return by == holder::library_new ? holder::library : by;
  }
  bool has_room(const replay_step& step) const {
    return by_ == way::reserved && step.chosen && step.bytes <= job_.reserved_bytes;
  }
  // Returns at least one byte, because every block is touched.
  std::uint32_t wanted(const replay_step& step) const {
    return std::max(has_room(step) ? job_.reserved_bytes : step.bytes, 1U);
  }
  static bool is_large(std::uint32_t bytes) { return bytes > detail::largest_class_size; }
  bool has_block(std::uint32_t number) const {
    return at_[number].by != holder::nobody && at_[number].by != holder::text;
  }

  static void put(std::vector<action>& to, op does, std::uint32_t place, std::uint32_t from, std::uint32_t bytes,
                  std::uint32_t old_bytes) {
    const std::size_t in_class = std::min<std::size_t>(bytes, detail::largest_class_size);
    to.push_back({does, detail::class_of(in_class), place, from, bytes, old_bytes});
  }

  op allocates(holder by, std::uint32_t bytes) const {
    switch (by) {
      case holder::library: return op::allocate;
      case holder::library_new: return op::allocate_new;
      case holder::text: return op::make_text;
      case holder::pool: return is_large(bytes) ? op::allocate_large : op::allocate_pooled;
      case holder::arena: return op::allocate_arena;
      case holder::nobody: break;
    }
    return by_ == way::unmade ? op::read_text : by_ == way::recycled ? op::recycle : op::nothing;
  }
  static op releases(const place& of) {
    switch (of.by) {
      case holder::library: return op::release;
      case holder::library_new: return op::release_new;
      case holder::text: return op::end_text;
      case holder::pool: return is_large(of.held) ? op::release_large : op::release_pooled;
      case holder::arena:
      case holder::nobody: break;
    }
    return op::nothing;
  }
  // An arena's block is not copied: code that knows of its arena does not move what grows there.
  static op copies(holder by) {
    switch (by) {
      case holder::library: return op::grow;
      case holder::library_new: return op::grow_new;
      case holder::pool: return op::grow_pooled;
      case holder::arena: return op::allocate_arena;
      default: return op::nothing;
    }
  }

  void allocate(std::vector<action>& to, const replay_step& step) {
    const holder by = holder_for(step.chosen);
    put(to, allocates(by, wanted(step)), step.place, 0, wanted(step), 0);
    took(to, step, by, wanted(step), 0);
  }

  void release(std::vector<action>& to, std::uint32_t number) {
    place& of = at_[number];
    put(to, releases(of), number, 0, of.held, 0);
    of = {};
  }

  // Makes a larger block beside the one at `from`, which a later step releases.
  void grow(std::vector<action>& to, const replay_step& step) {
    place& old = at_[step.from];
    const std::uint32_t had = old.content;
    if (has_room(step) && fits(old, step)) return take_over(to, step);
    const holder by = holder_for(step.chosen);
    allocate_and_copy(to, step, by);
    took(to, step, by, wanted(step), had);
  }

  void resize(std::vector<action>& to, const replay_step& step) {
    place& old = at_[step.from];
    const std::uint32_t had = old.content;
    const holder by = resized_by(step.chosen);
    const bool apart = old.chosen != step.chosen || job_.is_copied_text || job_.by_new;  // equal in every way
    if (has_room(step) && fits(old, step)) {
      take_over(to, step);
      if (apart) pad(to);
      return;
    }
    if (by == holder::library && old.by == holder::library) {  // a single realloc
      put(to, op::resize, step.place, step.from, wanted(step), had);
      if (apart) pad(to);
    } else if (!apart) {  // the same allocator serves both
      const op does = by == holder::pool ? op::resize_pooled : allocates(by, wanted(step));
      put(to, does, step.place, step.from, wanted(step), by == holder::pool ? old.held : had);
    } else {
      allocate_and_copy(to, step, by);
      put(to, releases(old), step.from, 0, old.held, 0);
    }
    old = {};
    took(to, step, by, wanted(step), had);
  }

  void allocate_and_copy(std::vector<action>& to, const replay_step& step, holder by) {
    const op does = has_block(step.from) && copies(by) != op::nothing ? copies(by) : allocates(by, wanted(step));
    put(to, does, step.place, step.from, wanted(step), at_[step.from].content);
  }

  static bool fits(const place& old, const replay_step& step) {
    return (old.by == holder::library || old.by == holder::library_new) && old.held >= step.bytes;
  }
  // Keeps the block, because the buffer that grows has room already.
  void take_over(std::vector<action>& to, const replay_step& step) {
    const place old = at_[step.from];
    put(to, op::take_over, step.place, step.from, old.held, 0);
    at_[step.from] = {};
    took(to, step, old.by, old.held, old.content);
  }

  // Notes who holds the place now, and fills the block as a container would. A way that makes no block fills a kept
  // buffer instead.
  void took(std::vector<action>& to, const replay_step& step, holder by, std::uint32_t held, std::uint32_t had) {
    at_[step.place] = {by, step.chosen, held, step.bytes};
    const bool grows = step.is > replay_step::release;
    if (!step.chosen || step.bytes <= page_bytes || !(job_.is_filled || grows)) return;
    if (by_ == way::as_copy || by_ == way::unmade) return;  // these ways have texts instead of blocks
    const bool is_kept = by_ == way::nothing || by_ == way::recycled;
    put(to, is_kept ? op::fill_kept : op::fill, step.place, 0, step.bytes, had);
  }
  static void pad(std::vector<action>& to) { put(to, op::nothing, 0, 0, 0, 0); }

  const replay_job& job_;
  way by_;
  std::vector<place> at_;
};

}  // namespace

bool has_way(const replay_job& job, way by) {
  switch (by) {
    case way::as_copy:
    case way::unmade: return job.is_copied_text;
    case way::reserved: return job.reserved_bytes != 0;
    default: return true;
  }
}

std::vector<script> scripts_of(const replay_job& job, way by) {
  std::vector<script> all;
  for (const replay_plan& plan : job.plans) {
    script& made = all.emplace_back();
    script_writer write(job, by, plan.places);
    for (const replay_step& each : plan.before) write.add(made.before, each);
    for (const replay_step& each : plan.steps) write.add(made.steps, each);
    for (const replay_step& each : plan.after) write.add(made.after, each);
  }
  return all;
}

bool is_playable(const replay_job& job) {
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

}  // namespace tarn::command
