// Bytes as a sequence of operations on heaps, beside the plainest oracle: every live block keeps the bytes that were
// written into it, lies apart from all others, is aligned, and belongs to the heap that it was asked of.
//
// Several threads act, one at a time, so that the same bytes do the same again. They free each other's blocks, end
// and come back; heap objects are released and made anew; time passes; requests for pages fail. Over the fake
// platform. What is not so ends the process, with the number of the operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include <tarn/tarn.hpp>

#include "support/worker.hpp"

namespace fuzz {

class interpreter {
 public:
  explicit interpreter(std::span<const std::uint8_t> bytes);

  /// Plays all the bytes, frees what is left, and looks at the structures.
  void play();

 private:
  static constexpr std::size_t actors = 3;
  static constexpr std::size_t lanes = 2;

  struct block {
    std::size_t bytes;  ///< usable, and filled
    std::uint8_t fill;
    std::size_t lane;  ///< `lanes`: of no heap object
  };
  using block_map = std::map<char*, block>;

  // What the input holds; zeros behind its end.
  std::uint8_t byte();
  std::size_t number();
  std::size_t size();

  void play_until_switch();
  void step(std::uint8_t operation);
  void allocate(std::size_t lane, std::size_t alignment);
  void allocate_zeroed();
  void enter(void* made, std::size_t asked, std::size_t alignment, std::size_t lane);
  void resize();
  void free_some(std::size_t count);
  void release(std::size_t lane);
  void renew(std::size_t lane);
  void forget(std::size_t lane);
  void give(block_map::iterator gone);
  block_map::iterator any();
  bool may_fail(std::size_t lane) const;
  void check_heaps();

  std::span<const std::uint8_t> left_;
  std::size_t step_ = 0;
  std::size_t actor_ = 0;
  std::size_t next_actor_ = 0;  ///< `actors`: the same, with a new thread
  std::uint64_t refused_ = 0;   ///< page requests, when the operation began
  std::unique_ptr<support::worker> threads_[actors];
  std::optional<tarn::heap> lanes_[lanes];
  block_map blocks_;
};

}  // namespace fuzz
