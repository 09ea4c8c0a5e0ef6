// What is said of blocks that are in use when a pool or a heap ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::base {

/// Gathers blocks by the call that allocated them. No memory but its own; one thread at a time.
class leak_report {
 public:
  void add(std::size_t bytes, const void* site, std::uint32_t thread) noexcept;
  /// A line for all and one for each place, the most bytes first, on standard error; nothing when there were none.
  /// `kind`: pool or heap. Not const: it sorts.
  void print(const char* kind, const char* name, const void* address) noexcept;

 private:
  struct place {
    const void* site;
    std::uint32_t thread;
    std::size_t blocks, bytes;
  };
  static constexpr std::size_t most_places = 32;

  place places_[most_places];
  std::size_t known_ = 0;
  place all_ = {}, others_ = {};
};

}  // namespace tarn::base
