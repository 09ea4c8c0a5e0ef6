// The blocks of a pool, each a guarded one of its own (guard/guard.hpp): with the option `guard` or
// pool_options::guard. The pool's magazine is shut then, so that every call takes the slow path and comes here;
// without, the pools' paths have not one instruction for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/spin_mutex.hpp>

namespace tarn {
struct pool_options;
}

namespace tarn::detail {

/// Any thread. Invariant: live_[i], for i below count_, are the blocks with the program, and each carries i as its
/// note.
class guarded_blocks {
 public:
  /// Null when they are not wanted, or there is no memory: then the pool does without. Under `pool` it is known to
  /// faults.
  static guarded_blocks* make(const void* pool, std::size_t bytes, std::size_t alignment,
                              const pool_options& options) noexcept;
  /// Says which blocks are in use, and where they were allocated; frees them. `of` may be null.
  static void end(guarded_blocks* of) noexcept;

  /// Null at the limit, and when there is no memory. `site`: what the program's call returns to.
  void* take(const void* site) noexcept;
  void give(void* block, const void* site) noexcept;
  /// Frees all.
  void clear(const void* site) noexcept;
  void for_each_live(void (*each)(void*, void*), void* call);

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
