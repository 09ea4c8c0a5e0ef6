// The memory of a request: an arena that is empty again when the reply is out. Or the process heap, to compare.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include <tarn/tarn.hpp>

namespace appserver {

enum class allocator_kind { tarn, global };

/// The warm arenas of one worker: as many as it had requests in flight at once. A connection that is idle has none. For
/// the worker's thread.
class request_memories {
 public:
  /// An arena for as long as the lease lives, which is no longer than what was made in it.
  class lease {
   public:
    ~lease() {
      if (arena_) {
        arena_->reset();
        of_.spare_.push_back(std::move(arena_));
      }
    }
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    std::pmr::memory_resource& operator*() const noexcept {
      return arena_ ? *arena_ : *std::pmr::new_delete_resource();
    }

   private:
    friend class request_memories;
    lease(request_memories& of, std::unique_ptr<tarn::arena> arena) : of_(of), arena_(std::move(arena)) {}

    request_memories& of_;
    std::unique_ptr<tarn::arena> arena_;
  };

  request_memories(allocator_kind kind, std::size_t first_chunk) : kind_(kind), first_chunk_(first_chunk) {}

  lease take() {
    if (kind_ == allocator_kind::global) {
      return {*this, nullptr};
    }
    if (spare_.empty()) {
      spare_.reserve(++made_);  // so that the end of a lease throws nothing
      return {*this,
              std::make_unique<tarn::arena>(tarn::arena_options{.first_chunk = first_chunk_, .keep = most_kept})};
    }
    auto arena = std::move(spare_.back());
    spare_.pop_back();
    return {*this, std::move(arena)};
  }

 private:
  static constexpr std::size_t most_kept = 1 << 20;  ///< one huge reply does not hold its memory for ever

  allocator_kind kind_;
  std::size_t first_chunk_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<tarn::arena>> spare_;
};

}  // namespace appserver
