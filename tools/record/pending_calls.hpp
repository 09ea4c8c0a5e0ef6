// Keeps the system calls of a signal's handler that interrupted its thread in the recorder, whose tables cannot be
// used then. They are kept with their stacks until the thread's next call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/region.hpp"
#include "record/memory.hpp"
#include "record/stack.hpp"

namespace tarn::record {

// The pending calls of one thread. Only the handler of SIGSYS uses them, which no other handler interrupts.
class pending_calls {
 public:
  // Returns false when there is no room.
  bool push(const caller& from, const stack_limits& limits, std::uint32_t number, std::uint64_t asked) noexcept {
    if (all_ == nullptr) all_ = static_cast<call*>(map(most * sizeof(call)));
    if (all_ == nullptr || count_ == most) return false;
    call& made = all_[count_++];
    stack_reads reads;
    made.depth = walk(from, limits, made.frames, reads);
    made.number = number;
    made.asked = asked;
    return true;
  }

  bool is_empty() const noexcept { return count_ == 0; }

  // Calls `count(frames, depth, number, asked)` for each call, and drops them.
  template <class Count>
  void take_all(Count count) noexcept {
    for (std::size_t at = 0; at < count_; ++at) count(all_[at].frames, all_[at].depth, all_[at].number, all_[at].asked);
    count_ = 0;
  }

  // Frees the memory when the thread ends.
  void give_back() noexcept {
    unmap(all_, most * sizeof(call));
    all_ = nullptr;
    count_ = 0;
  }

 private:
  static constexpr std::size_t most = 64;
  struct call {
    std::uintptr_t frames[format::most_frames];
    std::size_t depth;
    std::uint32_t number;
    std::uint64_t asked;
  };
  call* all_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tarn::record
