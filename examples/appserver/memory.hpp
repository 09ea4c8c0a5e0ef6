// The memory of a request: an arena that is empty again when the reply is sent, or the process heap for comparison.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include <tarn/tarn.hpp>

namespace appserver {

enum class allocator_kind { tarn, global };

/// Limits the memory of all requests of the process beyond the first chunk of each arena. Any thread may call it.
class memory_budget {
 public:
  explicit memory_budget(std::size_t limit) : limit_(limit) {}

  /// Returns false, and takes nothing, when the budget has no room.
  bool take(std::size_t bytes) noexcept {
    if (taken_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > limit_) {
      give(bytes);
      return false;
    }
    return true;
  }
  void give(std::size_t bytes) noexcept { taken_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Returns true when less than a quarter is left.
  bool is_short() const noexcept { return taken_bytes_.load(std::memory_order_relaxed) > limit_ - limit_ / 4; }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> taken_bytes_ = 0;
};

/// Takes memory from another resource within a budget: allocations above `exempt` bytes count, and throw
/// std::bad_alloc when the budget has no room for them.
class budgeted_resource final : public std::pmr::memory_resource {
 public:
  budgeted_resource(std::pmr::memory_resource& upstream, memory_budget& within, std::size_t exempt)
      : upstream_(upstream), within_(within), exempt_(exempt) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > exempt_ && !within_.take(bytes)) {
      throw std::bad_alloc();
    }
    try {
      return upstream_.allocate(bytes, alignment);
    } catch (...) {
      give(bytes);
      throw;
    }
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    upstream_.deallocate(block, bytes, alignment);
    give(bytes);
  }
  bool do_is_equal(const std::pmr::memory_resource& resource) const noexcept override { return this == &resource; }
  void give(std::size_t bytes) noexcept {
    if (bytes > exempt_) {
      within_.give(bytes);
    }
  }

  std::pmr::memory_resource& upstream_;
  memory_budget& within_;
  std::size_t exempt_;
};

/// Holds the warm arenas of one worker, as many as it had requests in flight at once. An idle connection has none.
/// Only the worker's thread may call it.
class request_memories {
 public:
  /// Lends an arena for the lifetime of the lease. Everything made in it must end first.
  class lease {
   public:
    ~lease() {
      if (arena_) {
        owner_.take_back(std::move(arena_));
      }
    }
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    std::pmr::memory_resource& operator*() const noexcept {
      return arena_ ? *arena_ : *std::pmr::new_delete_resource();
    }

   private:
    friend class request_memories;
    lease(request_memories& owner, std::unique_ptr<tarn::arena> arena) : owner_(owner), arena_(std::move(arena)) {}

    request_memories& owner_;
    std::unique_ptr<tarn::arena> arena_;
  };

  request_memories(allocator_kind kind, std::size_t first_chunk, std::pmr::memory_resource& upstream,
                   memory_budget& within)
      : kind_(kind), first_chunk_(first_chunk), within_(within), chunks_(upstream, within, first_chunk + overhead) {
    spare_.reserve(max_spare);  // so that the end of a lease throws nothing
  }

  lease take() {
    if (kind_ == allocator_kind::global) {
      return {*this, nullptr};
    }
    if (spare_.empty()) {
      return {*this, std::make_unique<tarn::arena>(tarn::arena_options{
                         .upstream = &chunks_, .first_chunk = first_chunk_, .spare_limit = capacity})};
    }
    auto arena = std::move(spare_.back());
    spare_.pop_back();
    return {*this, std::move(arena)};
  }

 private:
  static constexpr std::size_t overhead = 256;      ///< the most bytes that a chunk takes besides its content
  static constexpr std::size_t capacity = 1 << 20;  ///< bytes; one huge reply does not keep its memory forever
  static constexpr std::size_t max_warm = 8;        ///< spare arenas that keep their memory after a burst of requests
  static constexpr std::size_t max_spare = 64;

  /// Memory that an arena does not keep goes back to the worker's heap, and from there to the system.
  void take_back(std::unique_ptr<tarn::arena> arena) {
    if (spare_.size() < max_warm && !within_.is_short()) {
      arena->reset();
    } else {
      arena->release();
    }
    if (spare_.size() < max_spare) {
      spare_.push_back(std::move(arena));
    }
  }

  allocator_kind kind_;
  std::size_t first_chunk_;
  memory_budget& within_;
  budgeted_resource chunks_;
  std::vector<std::unique_ptr<tarn::arena>> spare_;
};

}  // namespace appserver
