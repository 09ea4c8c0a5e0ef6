#include "fuzz/replay_input.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "analyse/replay.hpp"
#include "tarn/replay.hpp"
#include "tarn/replay_script.hpp"

namespace tarn::fuzz {
namespace {

using namespace tarn::command;
using analyse::replay_job;
using format::excerpt_kind;
using format::excerpt_step;

void check(bool is_true, const char* otherwise, way by) {
  if (is_true) return;
  std::fprintf(stderr, "way %zu: %s\n", static_cast<std::size_t>(by), otherwise);
  std::abort();
}

unsigned take_byte(std::string_view& from) {
  if (from.empty()) return 0;
  const auto first = static_cast<unsigned char>(from.front());
  from.remove_prefix(1);
  return first;
}

constexpr std::array<std::uint32_t, 16> sizes = {0,    1,    8,    16,   24,   100,   500,    1024,
                                                 1025, 2000, 4096, 4097, 9000, 70000, 262145, 300000};
constexpr std::uint32_t sites = 4;

// Each event is two bytes: the operation and the address, and the size and the site. Addresses may be allocated twice
// or released unseen, because other threads allocate and free as well.
format::excerpt_facts excerpt_from(std::string_view input) {
  format::excerpt_facts made;
  while (input.size() >= 2) {
    const unsigned what = take_byte(input), how = take_byte(input);
    const std::uint64_t address = 16 * (1 + (what >> 2));
    const std::uint32_t bytes = sizes[how % sizes.size()], site = 1 + how / 16 % sites;
    switch (what % 4) {
      case 0:
      case 1: made.steps.push_back({excerpt_kind::allocate, site, bytes, address}); break;
      case 2: made.steps.push_back({excerpt_kind::release, 0, bytes, address}); break;
      default: made.steps.push_back({excerpt_kind::resize, 0, bytes, address}); break;
    }
  }
  return made;
}

enum class allocator { none, library, library_new, text, pool, arena };

// Does what a player would do, and tracks the blocks.
class auditor {
 public:
  auditor(way by, std::size_t places) : by_(by), at_(places) {}

  void run(const std::vector<action>& actions) {
    for (const action& each : actions) follow(each);
  }
  void end() const {
    for (const block& each : at_)
      check(each.by == allocator::none || each.by == allocator::arena, "a block is never released", by_);
  }

 private:
  struct block {
    allocator by = allocator::none;
    std::uint32_t bytes = 0;
  };

  void make(const action& now, allocator from) {
    check(now.bytes != 0 || from == allocator::text, "a block without a byte is touched", by_);
    block& place = at_[now.place];
    check(place.by == allocator::none, "a block is forgotten", by_);
    place = {from, now.bytes};
  }
  void end(const action& now, std::uint32_t number, allocator from) {
    check(at_[number].by == from, "a block is released by another allocator, or twice", by_);
    if (from == allocator::pool) check(at_[number].bytes == now.bytes, "a pooled block has another size", by_);
    at_[number] = {};
  }
  void copy(const action& now) {
    const block& old = at_[now.from];
    check(old.by != allocator::none && old.by != allocator::text, "what is copied is no block", by_);
    check(now.old_bytes <= old.bytes, "more is copied than there is", by_);
  }
  void fill(const action& now) { check(at_[now.place].bytes >= now.bytes, "more is filled than there is", by_); }

  void follow(const action& now) {
    const bool is_large = now.bytes > detail::largest_class_size;
    switch (now.does) {
      case op::nothing:
      case op::read_text:
      case op::recycle:
      case op::fill_kept: break;
      case op::allocate: make(now, allocator::library); break;
      case op::release: end(now, now.place, allocator::library); break;
      case op::allocate_new: make(now, allocator::library_new); break;
      case op::release_new: end(now, now.place, allocator::library_new); break;
      case op::resize:
        end(now, now.from, allocator::library);
        make(now, allocator::library);
        break;
      case op::grow:
        copy(now);
        make(now, allocator::library);
        break;
      case op::grow_new:
        copy(now);
        make(now, allocator::library_new);
        break;
      case op::take_over: {
        const block old = at_[now.from];
        check(old.by != allocator::none && old.bytes == now.bytes, "there is nothing to take over", by_);
        at_[now.from] = {};
        make(now, old.by);
        break;
      }
      case op::make_text: make(now, allocator::text); break;
      case op::end_text: end(now, now.place, allocator::text); break;
      case op::fill: fill(now); break;
      case op::allocate_pooled:
      case op::allocate_large:
        check(is_large == (now.does == op::allocate_large), "a pooled block of the wrong kind", by_);
        make(now, allocator::pool);
        break;
      case op::release_pooled:
      case op::release_large:
        check(is_large == (now.does == op::release_large), "a pooled block of the wrong kind", by_);
        end(now, now.place, allocator::pool);
        break;
      case op::resize_pooled:
        check(at_[now.from].by == allocator::pool && at_[now.from].bytes == now.old_bytes, "no pooled block", by_);
        at_[now.from] = {};
        make(now, allocator::pool);
        break;
      case op::grow_pooled:
        copy(now);
        make(now, allocator::pool);
        break;
      case op::allocate_arena:
        at_[now.place] = {};
        make(now, allocator::arena);
        break;
    }
  }

  way by_;
  std::vector<block> at_;
};

void audit(const replay_job& job) {
  std::array<std::size_t, way_count> actions{};
  for (std::size_t each = 0; each < way_count; ++each) {
    const auto by = static_cast<way>(each);
    if (!has_way(job, by)) continue;
    const std::vector<script> scripts = scripts_of(job, by);
    for (std::size_t plan = 0; plan < scripts.size(); ++plan) {
      auditor books(by, job.plans[plan].places);
      for (const auto* const part : {&scripts[plan].before, &scripts[plan].steps, &scripts[plan].after}) {
        books.run(*part);
        actions[each] += part->size();
      }
      books.end();
    }
    const bool has_texts = by == way::as_copy || by == way::unmade;  // these fill nothing
    const way like = has_texts ? way::as_copy : way::as_is;
    check(actions[each] == actions[static_cast<std::size_t>(like)], "other work than beside the same blocks", by);
  }
}

}  // namespace

void replay_trace(std::string_view input) {
  const unsigned how = take_byte(input), which = take_byte(input);
  replay_job job;
  job.by_new = (how & 1U) != 0;
  job.is_copied_text = (how & 2U) != 0;
  job.is_filled = (how & 4U) != 0;
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t site = 1; site <= sites; ++site) {
    if ((which >> site & 1U) != 0) chosen.push_back(site);
  }
  job.plans.push_back(analyse::plan_of(excerpt_from(input), chosen));
  analyse::reserve(job, sizes[how / 16 % sizes.size()]);
  check(is_playable(job), "the plan contradicts itself", way::as_is);
  audit(job);
  rehearse(analyse::jobs_from(analyse::bytes_of({job})).front());
}

}  // namespace tarn::fuzz
