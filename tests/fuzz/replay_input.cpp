#include "fuzz/replay_input.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "profiler/predict/replay.hpp"
#include "profiler/predict/replay_script.hpp"
#include "profiler/predict/trace.hpp"

namespace tarn::fuzz {
namespace {

using namespace tarn::command;
using analyse::replay_job;
using format::excerpt_event;
using format::excerpt_kind;

void check(bool is_true, const char* otherwise, replay_method method) {
  if (is_true) return;
  std::fprintf(stderr, "method %zu: %s\n", static_cast<std::size_t>(method), otherwise);
  std::abort();
}

unsigned take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto first = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return first;
}

constexpr std::array<std::uint32_t, 16> sizes = {0,    1,    8,    16,   24,   100,   500,    1024,
                                                 1025, 2000, 4096, 4097, 9000, 70000, 262145, 300000};
constexpr std::uint32_t sites = 4;

// Each event is two bytes: the operation and the address, and the size and the site. Addresses may be allocated twice
// or released unseen, because other threads allocate and free as well.
format::excerpt_facts excerpt_from(std::string_view input) {
  format::excerpt_facts excerpt;
  while (input.size() >= 2) {
    const unsigned operation = take_byte(input), size_and_site = take_byte(input);
    const std::uint64_t address = 16 * (1 + (operation >> 2));
    const std::uint32_t bytes = sizes[size_and_site % sizes.size()], site = 1 + size_and_site / 16 % sites;
    switch (operation % 4) {
      case 0:
      case 1: excerpt.events.push_back({excerpt_kind::allocate, site, bytes, address}); break;
      case 2: excerpt.events.push_back({excerpt_kind::release, 0, bytes, address}); break;
      default: excerpt.events.push_back({excerpt_kind::resize, 0, bytes, address}); break;
    }
  }
  return excerpt;
}

enum class allocator { no_allocator, library, library_new, text, pool, arena };

// Follows a script as a player would, and tracks the blocks.
class auditor {
 public:
  auditor(replay_method method, std::size_t places) : method_(method), blocks_(places) {}

  void run(const std::vector<action>& actions) {
    for (const action& step : actions) follow(step);
  }
  void end() const {
    for (const block& tracked : blocks_)
      check(tracked.owner == allocator::no_allocator || tracked.owner == allocator::arena, "a block is never released",
            method_);
  }

 private:
  struct block {
    allocator owner = allocator::no_allocator;
    std::uint32_t bytes = 0;
  };

  void make(const action& now, allocator owner) {
    check(now.bytes != 0 || owner == allocator::text, "a block without a byte is touched", method_);
    block& slot = blocks_[now.slot];
    check(slot.owner == allocator::no_allocator, "a block is forgotten", method_);
    slot = {owner, now.bytes};
  }
  void end(const action& now, std::uint32_t number, allocator owner) {
    check(blocks_[number].owner == owner, "a block is released by another allocator, or twice", method_);
    if (owner == allocator::pool) check(blocks_[number].bytes == now.bytes, "a pooled block has another size", method_);
    blocks_[number] = {};
  }
  void copy(const action& now) {
    const block& old = blocks_[now.source];
    check(old.owner != allocator::no_allocator && old.owner != allocator::text, "what is copied is no block", method_);
    check(now.old_bytes <= old.bytes, "more is copied than there is", method_);
  }
  void fill(const action& now) { check(blocks_[now.slot].bytes >= now.bytes, "more is filled than there is", method_); }

  void follow(const action& now) {
    const bool is_large = now.bytes > detail::largest_class_size;
    switch (now.does) {
      case op::no_op:
      case op::read_text:
      case op::recycle:
      case op::fill_kept: break;
      case op::allocate: make(now, allocator::library); break;
      case op::release: end(now, now.slot, allocator::library); break;
      case op::allocate_new: make(now, allocator::library_new); break;
      case op::release_new: end(now, now.slot, allocator::library_new); break;
      case op::resize:
        end(now, now.source, allocator::library);
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
        const block old = blocks_[now.source];
        check(old.owner != allocator::no_allocator && old.bytes == now.bytes, "there is nothing to take over", method_);
        blocks_[now.source] = {};
        make(now, old.owner);
        break;
      }
      case op::make_text: make(now, allocator::text); break;
      case op::end_text: end(now, now.slot, allocator::text); break;
      case op::fill: fill(now); break;
      case op::allocate_pooled:
      case op::allocate_large:
        check(is_large == (now.does == op::allocate_large), "a pooled block of the wrong kind", method_);
        make(now, allocator::pool);
        break;
      case op::release_pooled:
      case op::release_large:
        check(is_large == (now.does == op::release_large), "a pooled block of the wrong kind", method_);
        end(now, now.slot, allocator::pool);
        break;
      case op::resize_pooled:
        check(blocks_[now.source].owner == allocator::pool && blocks_[now.source].bytes == now.old_bytes,
              "no pooled block", method_);
        blocks_[now.source] = {};
        make(now, allocator::pool);
        break;
      case op::grow_pooled:
        copy(now);
        make(now, allocator::pool);
        break;
      case op::allocate_arena:
        blocks_[now.slot] = {};
        make(now, allocator::arena);
        break;
    }
  }

  replay_method method_;
  std::vector<block> blocks_;
};

void audit(const replay_job& job) {
  std::array<std::size_t, replay_method_count> actions{};
  for (std::size_t number = 0; number < replay_method_count; ++number) {
    const auto method = static_cast<replay_method>(number);
    if (!has_method(job, method)) continue;
    const std::vector<script> scripts = scripts_of(job, method);
    for (std::size_t plan = 0; plan < scripts.size(); ++plan) {
      auditor books(method, job.plans[plan].slots);
      for (const auto* const part : {&scripts[plan].before, &scripts[plan].steps, &scripts[plan].after}) {
        books.run(*part);
        actions[number] += part->size();
      }
      books.end();
    }
    const bool has_texts = method == replay_method::as_copy || method == replay_method::viewed;  // these fill nothing
    const replay_method like = has_texts ? replay_method::as_copy : replay_method::as_is;
    check(actions[number] == actions[static_cast<std::size_t>(like)], "other work than beside the same blocks", method);
  }
}

}  // namespace

void replay_trace(std::string_view input) {
  const unsigned flags = take_byte(input), chosen_sites = take_byte(input);
  replay_job job;
  job.uses_new = (flags & 1U) != 0;
  job.is_copied_text = (flags & 2U) != 0;
  job.is_filled = (flags & 4U) != 0;
  std::vector<std::uint32_t> chosen_numbers;
  for (std::uint32_t site = 1; site <= sites; ++site) {
    if ((chosen_sites >> site & 1U) != 0) chosen_numbers.push_back(site);
  }
  job.plans.push_back(analyse::plan_of(excerpt_from(input), chosen_numbers));
  analyse::reserve(job, sizes[flags / 16 % sizes.size()]);
  check(is_playable(job), "the plan contradicts itself", replay_method::as_is);
  audit(job);
  rehearse(analyse::decode_jobs(analyse::encode({job})).front());
}

}  // namespace tarn::fuzz
