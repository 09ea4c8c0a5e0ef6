// A memory resource for tests. It counts, fails on request, and checks that each block comes back with the size and
// alignment of its request. It does not check contents.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory_resource>
#include <new>

namespace support {

class upstream : public std::pmr::memory_resource {
 public:
  upstream() = default;
  ~upstream() override { EXPECT_EQ(blocks(), 0u) << bytes() << " bytes were not deallocated"; }
  upstream(const upstream&) = delete;
  upstream& operator=(const upstream&) = delete;

  /// Lets the n-th request from now fail once; 0: none.
  void fail_request(std::size_t n) { fail_at_ = n == 0 ? 0 : requests_ + n; }
  void fail_from(std::size_t n) { fail_from_ = n == 0 ? 0 : requests_ + n; }

  std::size_t requests() const { return requests_; }
  std::size_t refused() const { return refused_; }
  std::size_t blocks() const { return live_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct shape {
    std::size_t bytes, alignment;
  };

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++requests_;
    if (requests_ == fail_at_ || (fail_from_ != 0 && requests_ >= fail_from_)) {
      ++refused_;
      throw std::bad_alloc();
    }
    void* const block = ::operator new(bytes, std::align_val_t(alignment));
    live_[block] = {bytes, alignment};
    bytes_ += bytes;
    return block;
  }

  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    const auto position = live_.find(block);
    if (position == live_.end()) {
      ADD_FAILURE() << "deallocates " << block << ", which this resource did not allocate or has deallocated already";
      return;
    }
    EXPECT_EQ(position->second.bytes, bytes);
    EXPECT_EQ(position->second.alignment, alignment);
    bytes_ -= position->second.bytes;
    live_.erase(position);
    ::operator delete(block, bytes, std::align_val_t(alignment));
  }

  bool do_is_equal(const std::pmr::memory_resource& resource) const noexcept override { return this == &resource; }

  std::map<void*, shape> live_;
  std::size_t requests_ = 0, refused_ = 0, fail_at_ = 0, fail_from_ = 0, bytes_ = 0;
};

}  // namespace support
