#pragma once

#include <atomic>

#include "record/next.hpp"

namespace tarn::record {

// A function behind us, looked up when it is first wanted. Null where there is none.
template <class Result, class... Arguments>
class behind_us {
 public:
  // `like`: the function of that name, for its type.
  constexpr behind_us(const char* name, Result (*like)(Arguments...)) noexcept : name_(name) { (void)like; }
  auto operator()() noexcept {
    void* known = function_.load(std::memory_order_relaxed);
    if (known == nullptr) [[unlikely]] {
      known = next_function(name_);
      function_.store(known, std::memory_order_relaxed);  // every thread finds the same
    }
    return reinterpret_cast<Result (*)(Arguments...)>(known);
  }

 private:
  const char* name_;
  std::atomic<void*> function_ = nullptr;
};

}  // namespace tarn::record
