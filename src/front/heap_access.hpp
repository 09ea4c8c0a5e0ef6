// The way from a public heap to the heap behind it, and back.
#pragma once

#include <tarn/heap.hpp>

namespace tarn {

struct heap_access {
  static detail::heap_front* front_of(const heap& face) noexcept { return face.front_; }

  /// The public side of a heap that nobody constructed, made when first asked for.
  /// Null when there is no memory. Any thread.
  static heap* face_of(detail::heap_front* front) noexcept;
};

}  // namespace tarn
