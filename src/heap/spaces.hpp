// The spaces of heap objects.
#pragma once

#include "pages/space.hpp"

namespace tarn::heaps {

class spaces {
 public:
  /// Null when there is no memory. Any thread.
  static pages::space* create(const pages::space_options& options) noexcept;
  /// Gives all its memory back first.
  static void destroy(pages::space* gone) noexcept;

  /// Around a fork: the lock of this list and of each space in it.
  static void lock_all() noexcept;
  static void unlock_all() noexcept;
  static void reset_all() noexcept;
};

}  // namespace tarn::heaps
