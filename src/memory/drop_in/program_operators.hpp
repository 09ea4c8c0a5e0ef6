// The operators new and delete that the program has instead of the drop-in's.
//
// A program may replace operator new(size) and operator delete(pointer) alone. The language says that the other forms
// then call these: `delete p` of a complete type calls operator delete(pointer, size), which calls the program's. A
// malloc that provides all forms takes the place of the C++ library's, so its forms have to do the same.
#pragma once

#include <cstddef>
#include <new>

namespace tarn::drop_in {

/// The operators that others call, as the program calls them. Those that it does not replace are the drop-in's.
struct operator_set {
  using make_function = void*(std::size_t);
  using make_aligned_function = void*(std::size_t, std::align_val_t);
  using drop_function = void(void*) noexcept;
  using drop_aligned_function = void(void*, std::align_val_t) noexcept;
  make_function *make, *make_array;
  make_aligned_function *make_aligned, *make_aligned_array;
  drop_function *drop, *drop_array;
  drop_aligned_function *drop_aligned, *drop_aligned_array;
};

/// Returns the set, or one of null pointers where the program replaces none. `replaceable` has the drop-in's.
operator_set find_program_operators(const operator_set& replaceable) noexcept;

}  // namespace tarn::drop_in
