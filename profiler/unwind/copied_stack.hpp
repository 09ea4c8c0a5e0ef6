// Lets walk() read a copy of a thread's stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tarn::unwind {

// The copied part of a thread's stack, from its stack pointer up.
class copied_stack {
 public:
  // `stacks` gets the stack pointer of each frame, unless it is null.
  copied_stack(std::uintptr_t low, const std::byte* bytes, std::size_t size, std::uintptr_t* stacks = nullptr)
      : low_(low), bytes_(bytes), size_(size), stacks_(stacks) {
    if (stacks_ != nullptr) stacks_[0] = low;
  }

  bool is_cut() const { return is_cut_; }
  bool has(std::uintptr_t address) const {
    return size_ >= sizeof address && address >= low_ && address - low_ <= size_ - sizeof address;
  }
  std::uintptr_t read(std::uintptr_t address) const {
    std::uintptr_t value = 0;
    std::memcpy(&value, bytes_ + (address - low_), sizeof value);
    return value;
  }
  bool reaches(std::uintptr_t stack) {
    const bool is_inside = stack - low_ <= size_;
    is_cut_ = is_cut_ || !is_inside;
    return is_inside;
  }
  std::uintptr_t room_above(std::uintptr_t stack) const { return size_ - (stack - low_); }
  // A signal may have interrupted another stack, of which there is no copy.
  bool enter_interrupted(std::uintptr_t stack, std::uintptr_t frame_end) {
    const bool is_inside = stack > frame_end && stack - low_ <= size_;
    is_cut_ = is_cut_ || !is_inside;
    return is_inside;
  }
  void note(std::uintptr_t, std::uintptr_t) {}
  void note_frame_register() {}
  void note_frame(std::size_t index, std::uintptr_t stack) {
    if (stacks_ != nullptr) stacks_[index] = stack;
  }

 private:
  std::uintptr_t low_;
  const std::byte* bytes_;
  std::size_t size_;
  std::uintptr_t* stacks_;
  bool is_cut_ = false;
};

}  // namespace tarn::unwind
