// The report of blocks that are in use when a pool or a heap ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::base {

/// Groups blocks by the call that allocated them. It allocates nothing. Threads: one at a time.
class leak_report {
 public:
  void add(std::size_t bytes, const void* site, std::uint32_t thread) noexcept;
  /// Writes one line with the sum and one line for each place to standard error, those with the most bytes first.
  /// Writes nothing without blocks. `kind` is pool or heap. It is not const, because it sorts.
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
