// Keeps the system calls of a signal's handler that interrupted its thread in the recorder, whose tables cannot be
// used then. They are kept with their stacks until the thread's next call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/stacks/stack.hpp"

namespace tarn::preload {

// The pending calls of one thread. Only the handler of SIGSYS uses them, which no other handler interrupts.
class pending_calls {
 public:
  // Returns false when there is no room.
  bool push(const caller& caller, const stack_limits& limits, std::uint32_t number, std::uint64_t requested_bytes,
            std::uint16_t weight) noexcept {
    if (memory_ == nullptr) memory_ = static_cast<memory*>(map(sizeof(memory)));
    if (memory_ == nullptr || count_ == limit) return false;
    call& added = memory_->calls[count_++];
    added.depth = walk(caller, limits, added.frames, memory_->reads);
    added.number = number;
    added.requested_bytes = requested_bytes;
    added.weight = weight;
    return true;
  }

  bool is_empty() const noexcept { return count_ == 0; }

  struct call {
    std::uintptr_t frames[format::max_frames];
    std::size_t depth;
    std::uint32_t number;
    std::uint16_t weight;  // the calls that it stands for
    std::uint64_t requested_bytes;
  };

  // Calls `count` for each call, and drops them.
  template <class Count>
  void take_all(Count count) noexcept {
    for (std::size_t index = 0; index < count_; ++index) count(memory_->calls[index]);
    count_ = 0;
  }

  // Frees the memory when the thread ends.
  void give_back() noexcept {
    unmap(memory_, sizeof(memory));
    memory_ = nullptr;
    count_ = 0;
  }

 private:
  static constexpr std::size_t limit = 64;
  struct memory {
    call calls[limit];
    stack_reads reads;  // of the walk, which the program's stack may have no room for
  };
  memory* memory_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tarn::preload
