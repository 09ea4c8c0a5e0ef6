// Interprets bytes as a sequence of operations on heaps and compares them with a simple oracle: every live block
// keeps its bytes, overlaps no other, is aligned, and belongs to the heap that it was requested from.
//
// Several threads act one at a time, so the same bytes always do the same. They free each other's blocks, end and
// restart; heap objects are released and made anew; time passes; page requests fail. All this runs on the fake
// platform. A violation ends the process with the number of the operation.
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

  /// Plays all the bytes, frees the remaining blocks, and checks the structures.
  void play();

 private:
  static constexpr std::size_t actors = 3;
  static constexpr std::size_t lanes = 2;

  struct block {
    std::size_t bytes;  ///< the usable size, all of it filled
    std::uint8_t fill;
    std::size_t lane;  ///< `lanes`: no heap object
  };
  using block_map = std::map<char*, block>;

  // Reads the input; zeros follow its end.
  std::uint8_t byte();
  std::size_t number();
  std::size_t size();

  void play_until_switch();
  void step(std::uint8_t operation);
  void allocate(std::size_t lane, std::size_t alignment);
  void allocate_zeroed();
  void enter(void* start, std::size_t request_bytes, std::size_t alignment, std::size_t lane);
  void resize();
  void free_some(std::size_t count);
  void release(std::size_t lane);
  void renew(std::size_t lane);
  void forget(std::size_t lane);
  void give(block_map::iterator position);
  block_map::iterator random_block();
  bool may_fail(std::size_t lane) const;
  void check_heaps();

  std::span<const std::uint8_t> left_;
  std::size_t step_ = 0;
  std::size_t actor_ = 0;
  std::size_t next_actor_ = 0;  ///< `actors`: the same actor, with a new thread
  std::uint64_t refused_ = 0;   ///< refused page requests when the operation began
  std::unique_ptr<support::worker> threads_[actors];
  std::optional<tarn::heap> lanes_[lanes];
  block_map blocks_;
};

}  // namespace fuzz
