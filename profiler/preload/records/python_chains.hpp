// Remembers the chains of Python frames that one thread was last seen with. One that has not changed is recognised by
// its frames' words, without a look at its code objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profiler/format/python_layout.hpp"

namespace tarn::preload {

inline std::uintptr_t python_word(std::uintptr_t address) noexcept {
  std::uintptr_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}
inline bool is_python_end(const format::python_layout& layout, std::uintptr_t frame) noexcept {
  return *reinterpret_cast<const std::uint8_t*>(frame + layout.frame_end) == layout.end_value;
}

// A chain with all that its reading depended on. Longer ones than there is room for are not remembered.
class python_chain {
 public:
  // Begins a chain that is not yet complete.
  void begin(std::uintptr_t activation) noexcept {
    activation_ = 0;
    frame_count_ = activation_count_ = 0;
    ends_ = 0;
    can_keep_ = true;
    first_activation_ = activation;
  }
  void forget() noexcept { can_keep_ = false; }
  void add_frame(std::uintptr_t address, std::uintptr_t code, std::uintptr_t instruction, bool is_end) noexcept {
    if (frame_count_ == max_frames) return forget();
    ends_ |= std::uint64_t{is_end} << frame_count_;
    frames_[frame_count_++] = {address, code, instruction};
  }
  void add_outer_activation(std::uintptr_t address) noexcept {
    if (activation_count_ == max_activations) return forget();
    outer_activations_[activation_count_++] = address;
  }
  // `next_frame` is what the last frame has as its caller.
  void keep(std::uintptr_t next_frame, std::uint64_t freed_codes, std::uint64_t hash) noexcept {
    if (!can_keep_ || frame_count_ == 0 || freed_codes == 0) return;
    frames_[frame_count_].address = next_frame;
    freed_codes_ = freed_codes;
    hash_ = hash;
    activation_ = first_activation_;
  }

  // `row` is that of the layout. Says whether a reading of the chain with this innermost activation and frame would
  // find the same again. The frame must be there. Each frame stays until the one that it called has ended, so it is
  // there if the inner one is the same.
  template <std::size_t row>
  [[gnu::always_inline]] bool is_unchanged(std::uintptr_t activation, std::uintptr_t frame,
                                           std::uint64_t freed_codes) const noexcept {
    constexpr const format::python_layout& layout = format::python_layouts[row];
    if (activation_ != activation || frames_[0].address != frame || freed_codes_ != freed_codes) return false;
    const known_frame* const end = frames_ + frame_count_;
    std::uint64_t ends = ends_;
    for (const known_frame* old_frame = frames_; old_frame != end; ++old_frame, ends >>= 1) {
      const std::uintptr_t address = old_frame->address;
      if (python_word(address + layout.frame_code) != old_frame->code ||
          python_word(address + layout.frame_instruction) != old_frame->instruction ||
          python_word(address + layout.frame_previous) != old_frame[1].address ||
          is_python_end(layout, address) != ((ends & 1) != 0))
        return false;
    }
    for (std::uint32_t index = 0; index < activation_count_; ++index) {
      if (python_word(activation + layout.activation_previous) != outer_activations_[index]) return false;
      activation = outer_activations_[index];
    }
    return true;
  }
  std::uint64_t hash() const noexcept { return hash_; }

 private:
  static constexpr std::uint32_t max_frames = 40, max_activations = 12;
  struct known_frame {
    std::uintptr_t address, code, instruction;
  };

  std::uintptr_t activation_;  // the innermost one; 0: there is no chain
  std::uint64_t freed_codes_, hash_;
  std::uint64_t ends_;  // a bit for each frame
  std::uint32_t frame_count_, activation_count_;
  bool can_keep_;
  std::uintptr_t first_activation_;
  known_frame frames_[max_frames + 1];
  std::uintptr_t outer_activations_[max_activations];
};

// Remembers frames outside of a thread's blocks, such as those of generators, which could be read when they were the
// innermost frame of the thread. CPython leaves such a frame before it frees it, so it can be read again when it is
// the innermost one again. With another newest block all are forgotten: only a frame of a block is left late.
class met_python_frames {
 public:
  bool has(std::uintptr_t newest_block, std::uintptr_t frame) const noexcept {
    return newest_block == newest_block_ && frames_[place_of(frame)] == frame;
  }
  void add(std::uintptr_t newest_block, std::uintptr_t frame) noexcept {
    if (newest_block != newest_block_) {
      for (std::uintptr_t& known_frame : frames_) known_frame = 0;
      newest_block_ = newest_block;
    }
    frames_[place_of(frame)] = frame;
  }

 private:
  static constexpr std::size_t count = 64;
  static std::size_t place_of(std::uintptr_t frame) noexcept { return frame / 16 % count; }

  std::uintptr_t newest_block_;
  std::uintptr_t frames_[count];
};

// All zeroes is an empty memory.
class known_python_chains {
 public:
  python_chain& slot_of(std::uintptr_t frame, std::uintptr_t instruction) noexcept {
    return chains_[((frame ^ instruction << 9) * 0x9e3779b97f4a7c15ULL) >> 57];
  }

 private:
  python_chain chains_[128];
};

}  // namespace tarn::preload
