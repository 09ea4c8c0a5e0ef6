// Runs after a system call of the program. The program's other registers are in use, so this file is compiled to use
// general registers only.
#include <cerrno>

#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/count_calls.hpp"
#include "profiler/preload/records/call_facts.hpp"
#include "profiler/preload/records/call_time.hpp"
#include "profiler/preload/records/long_calls.hpp"
#include "profiler/preload/records/open_use.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/substitute.hpp"
#include "profiler/preload/threads.hpp"
#include "profiler/preload/windows.hpp"

namespace tarn::preload {
namespace {

std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
  return hash ^ hash >> 32;
}

std::uint64_t hash_of(const call_facts& facts, const long* arguments, bool paths_are_readable) noexcept {
  constexpr std::size_t longest_path = 4096;
  std::uint64_t hash = 1;
  for (std::uint8_t index = 0; index < 6; ++index) {
    if ((facts.query_arguments >> index & 1) == 0) continue;
    if (index != facts.path_at) {
      hash = mix_hash(hash, static_cast<std::uint64_t>(arguments[index]));
    } else if (paths_are_readable && arguments[index] != 0) {
      const char* const path = reinterpret_cast<const char*>(arguments[index]);
      for (std::size_t letter = 0; letter < longest_path && path[letter] != '\0'; ++letter) {
        hash = mix_hash(hash, static_cast<unsigned char>(path[letter]));
      }
    }
  }
  return hash | 1;  // 0 means that there is no hash yet
}

}  // namespace

namespace {

// Counts the call that its thread awaits in the cell, once if it was long. Returns the calls that it stands for.
std::uint64_t count_awaited(format::call_cell& cell, std::uint64_t weight, std::uint64_t ticks) noexcept {
  if (own_awaited_call.cell != &cell) return weight;
  own_awaited_call.cell = nullptr;
  if (ticks >= long_ticks) weight = 1;
  const auto add = [&](std::size_t counter, std::uint64_t amount) {
    if (amount != 0) cell.value[counter].fetch_add(weight * amount, std::memory_order_relaxed);
  };
  add(format::calls, 1);
  add(format::in_a_row, own_awaited_call.follows_equal_call ? 1 : 0);
  add(format::requested_bytes, own_awaited_call.requested_bytes);
  if (weight > 1) count_spread(cell, weight);
  return weight;
}

}  // namespace

void call_ended(format::call_cell& cell, std::uint64_t weight, std::uint64_t began, long number, const long* arguments,
                long result) noexcept {
  const std::uint64_t ticks = clock_ticks() - began;
  weight = count_awaited(cell, weight, ticks);
  const auto add = [&](std::size_t counter, std::uint64_t amount) {
    // Atomic, as a signal's handler may add in between.
    cell.value[counter].fetch_add(weight * amount, std::memory_order_relaxed);
  };
  sampled_call sampled{ticks, weight, ticks};
  if (weight > 1 && ticks >= long_ticks) {
    const std::uint64_t other_calls = cell.value[format::calls].load(std::memory_order_relaxed) - weight;
    if (other_calls != 0)
      sampled.mean_ticks = cell.value[format::call_ticks].load(std::memory_order_relaxed) / other_calls;
    sampled.long_calls = note_long_call_in(cell);
    sampled.is_long = true;
  }
  cell.value[format::call_ticks].fetch_add(ticks_of(sampled), std::memory_order_relaxed);
  const call_facts facts = facts_of_call(number);
  if (result < 0 && result > -4096) {
    add(format::errors, 1);
  } else if (facts.returns_bytes) {
    add(format::returned_bytes, static_cast<std::uint64_t>(result));
    if (facts.size_at == call_facts::no_argument) add(format::requested_bytes, static_cast<std::uint64_t>(result));
  }
  if (facts.query_arguments != 0) {
    const std::uint64_t hash =
        hash_of(facts, arguments, result != -EFAULT);  // without EFAULT the kernel has read the path
    if (cell.last_arguments.load(std::memory_order_relaxed) == hash) add(format::same_arguments, 1);
    cell.last_arguments.store(hash, std::memory_order_relaxed);
  }
}

}  // namespace tarn::preload

namespace {

// tarn_call of exempt.S pushes this frame.
struct made_call {
  long r9, r8, r10, rdx, rsi, rdi;  // pushed; the changed values are restored from here
  std::uint64_t flags;
  std::uint64_t began;
  std::uintptr_t carried;
  std::uintptr_t return_address;
  long number, result;
};

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void tarn_call_made(made_call* call) noexcept {
  using namespace tarn::preload;
  long arguments[6] = {call->rdi, call->rsi, call->rdx, call->r10, call->r8, call->r9};
  auto* const cell = cell_of(call->carried);
  if (substitution* const replacement = substitution_of(call->carried)) {
    restore(*replacement, call->number, arguments, call->result);
    call->rdi = arguments[0], call->rsi = arguments[1], call->rdx = arguments[2];
    call->r10 = arguments[3], call->r8 = arguments[4], call->r9 = arguments[5];
  }
  // A child of fork also returns through here, and must not count.
  if (cell != nullptr && is_recorded()) {
    if (thread* const self = thread::current_if_known()) close(self->counts().call);
    call_ended(*cell, weight_of(call->carried), call->began, call->number, arguments, call->result);
  }
}
