// The blocks of a pool under the option `guard` or pool_options::is_guarded; each is a guarded block of its own
// (memory/guard/guard.hpp). The pool's magazine is then closed, so that every call takes the slow path, which calls
// these functions. A pool without guards has no instruction for this in its paths.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/spin_mutex.hpp>

namespace tarn {
struct pool_options;
}

namespace tarn::detail {

/// Threads: any. Invariant: live_[i], for i below count_, are the blocks in use, and each carries i as its note.
class guarded_blocks {
 public:
  /// Returns null when guards are not wanted, or without memory; the pool then works without. Faults show the name
  /// `pool`.
  static guarded_blocks* make(const void* pool, std::size_t bytes, std::size_t alignment,
                              const pool_options& options) noexcept;
  /// Reports the blocks in use with their allocation sites, and frees them. `blocks` may be null.
  static void end(guarded_blocks* blocks) noexcept;

  /// Returns null at the limit, and without memory. `site` is the return address of the program's call.
  void* take(const void* site) noexcept;
  void give(void* block, const void* site) noexcept;
  /// Frees all blocks.
  void clear(const void* site) noexcept;
  void for_each_live(void (*visit)(void*, void*), void* call);

  bool has_room(std::size_t blocks) const noexcept { return limit_ == 0 || blocks <= limit_; }
  std::size_t in_use() noexcept;
  std::size_t peak_in_use() noexcept;

 private:
  guarded_blocks(const void* pool, std::size_t bytes, std::size_t alignment, const pool_options& options) noexcept;
  bool grow() noexcept;
  void report_left() const noexcept;

  spin_mutex lock_;
  void** live_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t room_ = 0;
  std::uint32_t peak_ = 0;
  std::size_t bytes_;
  std::size_t alignment_;
  std::size_t limit_;
  const char* name_;
  const void* pool_;
};

}  // namespace tarn::detail
