// Lets a pointer leave a lock or snapshot, where the object outlives it by design.
#pragma once

#include <tarn/detail/language.hpp>

#include <type_traits>
#include <utility>

#include <tarn/detail/outliving.hpp>

namespace tarn {

/// node* found = nodes.with([](auto& all) { return tarn::outlives(all.find("ada")->second.get()); });
///
/// Lets a function of with(), read(), update() and others return a pointer, view or iterator, which does not compile
/// otherwise. You vouch for two things that no compiler checks: the object lives until its last use, whatever other
/// threads do with the container (a node that is never erased, a static object, memory of an arena that ends later),
/// and what is used of it without the lock never changes, is atomic, or has a lock of its own. Use a std::shared_ptr
/// where only the first is in doubt. Threads: any. Errors: none. Cost: none.
template <class T>
[[nodiscard]] constexpr outliving<std::decay_t<T>> outlives(T&& pointer) {
  return outliving<std::decay_t<T>>(std::forward<T>(pointer));
}

}  // namespace tarn
