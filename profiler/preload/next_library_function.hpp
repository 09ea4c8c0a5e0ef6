#pragma once

#include <atomic>

#include "profiler/preload/next.hpp"

namespace tarn::preload {

// Calls the next library's function of a name that this library defines too. A look-up takes the loader's lock and
// may allocate, so a constructor calls find() for each function before the program begins; after that a call costs
// one load.
template <class Result, class... Arguments>
class next_library_function {
 public:
  using function = Result (*)(Arguments...);
  // `prototype` is the function of that name; it only gives the type.
  constexpr next_library_function(const char* name, function prototype) noexcept : name_(name) { (void)prototype; }
  // Returns null where no library defines the function.
  function operator()() noexcept {
    void* const cached = function_.load(std::memory_order_relaxed);
    return cached == this ? find() : reinterpret_cast<function>(cached);
  }
  function find() noexcept {
    void* const function_found = next_function(name_);
    function_.store(function_found, std::memory_order_relaxed);  // every thread finds the same function
    return reinterpret_cast<function>(function_found);
  }

 private:
  const char* name_;
  std::atomic<void*> function_ = this;  // points to this object until the look-up
};

// Declares `next_NAME` for a function of the C library and looks it up before the program begins.
#define TARN_NEXT_FUNCTION(name)                                                    \
  static constinit ::tarn::preload::next_library_function next_##name(#name, name); \
  [[gnu::constructor(101)]] static void find_##name() noexcept { next_##name.find(); }

}  // namespace tarn::preload
