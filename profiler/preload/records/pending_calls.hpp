// Keeps the system calls of a signal's handler that interrupted its thread in the recorder, whose tables cannot be
// used then. They are kept with their stacks until the thread's next call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/stacks/stack.hpp"

namespace tarn::preload {

// The pending calls of one thread. Only the handler of SIGSYS uses them, which no other handler interrupts.
class pending_calls {
 public:
  // Returns false when there is no room for one that differs from all others.
  bool push(const caller& caller, const stack_limits& limits, std::uint32_t number, std::uint64_t requested_bytes,
            std::uint16_t weight) noexcept {
    if (memory_ == nullptr) memory_ = static_cast<memory*>(map(sizeof(memory)));
    if (memory_ == nullptr) return false;
    call& added = memory_->calls[count_];
    added.depth = walk(caller, limits, added.frames, memory_->reads);
    added.number = number;
    added.requested_bytes = requested_bytes;
    added.weight = weight;
    added.times = 1;
    // Signals that come faster than their handler returns interrupt the recorder at one instruction again and again.
    call* const equal =
        std::find_if(memory_->calls, &added, [&](const call& earlier) { return is_equal(earlier, added); });
    if (equal != &added) {
      ++equal->times;
      return true;
    }
    if (count_ == limit) return false;
    ++count_;
    return true;
  }

  bool is_empty() const noexcept { return count_ == 0; }

  struct call {
    std::uintptr_t frames[format::max_frames];
    std::size_t depth;
    std::uint32_t number;
    std::uint16_t weight;  // the calls that it stands for
    std::uint32_t times;   // that it came
    std::uint64_t requested_bytes;
  };

  // Calls `count` for each time of each call, and drops them.
  template <class Count>
  void take_all(Count count) noexcept {
    for (std::size_t index = 0; index < count_; ++index) {
      for (std::uint32_t time = 0; time < memory_->calls[index].times; ++time) count(memory_->calls[index]);
    }
    count_ = 0;
  }

  // Frees the memory when the thread ends.
  void give_back() noexcept {
    unmap(memory_, sizeof(memory));
    memory_ = nullptr;
    count_ = 0;
  }

 private:
  static bool is_equal(const call& first, const call& second) noexcept {
    return first.depth == second.depth && first.number == second.number && first.weight == second.weight &&
           first.requested_bytes == second.requested_bytes &&
           std::equal(first.frames, first.frames + first.depth, second.frames);
  }

  static constexpr std::size_t limit = 64;
  struct memory {
    call calls[limit + 1];  // the last one is compared only
    stack_reads reads;      // of the walk, which the program's stack may have no room for
  };
  memory* memory_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tarn::preload
