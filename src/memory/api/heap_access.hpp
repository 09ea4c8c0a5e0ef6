// Converts between a public heap and the heap behind it.
#pragma once

#include <tarn/heap.hpp>

namespace tarn {

struct heap_access {
  static detail::heap_front* front_of(const heap& face) noexcept { return face.front_; }

  /// Returns the public object of a heap that is no heap object, and makes it at the first request. Returns null
  /// without memory. Any thread may call it.
  static heap* face_of(detail::heap_front* front) noexcept;
};

}  // namespace tarn
