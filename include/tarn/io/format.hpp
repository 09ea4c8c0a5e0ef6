// Formatting by {fmt} straight into a writer's buffer. Only this header needs {fmt}: link fmt::fmt beside tarn::io.
#pragma once

#include <fmt/format.h>
#include <tarn/io/writer.hpp>

#include <cstddef>
#include <utility>

namespace tarn::io {

/// Formats into the buffer; a text that does not fit is formatted once more, after a flush. Throws io::error, and
/// fmt::format_error for a format that is not known until run time; nothing is taken then.
template <class... Arguments>
void print(writer& to, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::size_t room = to.room();
  char* place = to.reserve(room);
  std::size_t size = fmt::format_to_n(place, room, format, std::forward<Arguments>(arguments)...).size;
  if (size > room) {
    place = to.reserve(size);
    size = fmt::format_to_n(place, size, format, std::forward<Arguments>(arguments)...).size;
  }
  to.commit(size);
}

/// The same, and a '\n'.
template <class... Arguments>
void print_line(writer& to, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print(to, format, std::forward<Arguments>(arguments)...);
  to.write('\n');
}

}  // namespace tarn::io
