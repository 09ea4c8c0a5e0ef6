// The report of blocks that are in use when a pool or a heap ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::base {

/// Gathers blocks by the call that allocated them. It needs no further memory. Threads: one at a time.
class leak_report {
 public:
  void add(std::size_t bytes, const void* site, std::uint32_t thread) noexcept;
  /// Writes a line for all and one for each place to standard error, the most bytes first; writes nothing when there
  /// were none. `kind` is pool or heap. It is not const, because it sorts.
  void print(const char* kind, const char* name, const void* address) noexcept;

 private:
  struct source {
    const void* site;
    std::uint32_t thread;
    std::size_t blocks, bytes;
  };
  static constexpr std::size_t max_places = 32;

  source sources_[max_places];
  std::size_t count_ = 0;
  source total_ = {}, others_ = {};
};

}  // namespace tarn::base
