#include "memory/heap/magazine.hpp"

#include <new>

#include "memory/heap/array_pool.hpp"

namespace tarn::heaps {

magazine* magazine_stock::take_any() noexcept {
  if (first_ != nullptr) {
    magazine* const array = first_;
    first_ = array->next();
    --count_;
    return array;
  }
  void* const memory = arrays.allocate();
  return memory == nullptr ? nullptr : ::new (memory) magazine;
}

void magazine_stock::give(magazine* array) noexcept {
  if (count_ == max_arrays) {
    arrays.deallocate(array);
    return;
  }
  array->next() = first_;
  first_ = array;
  ++count_;
}

void magazine_stock::discard(magazine* array) noexcept { arrays.deallocate(array); }

void magazine_stock::clear() noexcept {
  while (first_ != nullptr) {
    magazine* const array = first_;
    first_ = array->next();
    --count_;
    arrays.deallocate(array);
  }
}

}  // namespace tarn::heaps
