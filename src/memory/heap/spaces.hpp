// Lists the spaces of heap objects.
#pragma once

#include "memory/pages/space.hpp"

namespace tarn::heaps {

class spaces {
 public:
  /// Returns a new space; null without memory. Any thread may call it.
  static pages::space* create(const pages::space_options& options) noexcept;
  /// Gives all memory of a space back and takes the space out of the list.
  static void destroy(pages::space* space) noexcept;

  /// Calls `visit(space&)` for central() and every space of a heap object, under the lock of this list. Any thread may
  /// call it.
  template <class Visit>
  static void for_all(Visit visit) noexcept {
    for_each(&visit, [](void* context, pages::space& space) noexcept { (*static_cast<Visit*>(context))(space); });
  }

  /// These three handle the lock of this list and of each space in it around a fork.
  static void lock_all() noexcept;
  static void unlock_all() noexcept;
  static void reset_all() noexcept;
  /// Opens the same locks, and changes nothing that they guard.
  static void open_all() noexcept;

 private:
  static void for_each(void* context, void (*visit)(void* context, pages::space&) noexcept) noexcept;
};

}  // namespace tarn::heaps
