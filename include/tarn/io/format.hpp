// Formats by {fmt} straight into a writer's buffer or a journal's line. Needs {fmt}: link fmt::fmt beside
// tarn::io.
#pragma once

#include <fmt/format.h>
#include <tarn/io/journal.hpp>
#include <tarn/io/plain_format.hpp>
#include <tarn/io/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tarn::io {

/// Formats into the writer's buffer. Threads: the one that uses the writer. Throws io::error, and fmt::format_error for
/// an invalid format that is only known at run time; the writer then takes nothing. Cost: no copy and no allocation; a
/// text that does not fit is formatted again after a flush.
template <class... Arguments>
void print(writer& output, message_format<Arguments...> format, Arguments&&... arguments) {
  const std::size_t room = output.room();
  char* buffer = output.reserve(room);
  std::size_t size = detail::format_message<Arguments...>(buffer, room, format, arguments...);
  if (size > room) {
    buffer = output.reserve(size);
    size = detail::format_message<Arguments...>(buffer, size, format, arguments...);
  }
  output.commit(size);
}

/// Does the same as print(), and adds a '\n'. Threads, errors and cost are those of print().
template <class... Arguments>
void print_line(writer& output, message_format<Arguments...> format, Arguments&&... arguments) {
  print<Arguments...>(output, format, std::forward<Arguments>(arguments)...);
  output.write('\n');
}

/// Appends a line that is formatted directly into the journal, and returns its number. Any thread may call it. Throws
/// what journal::append throws, and fmt::format_error for an invalid format that is only known at run time; there is
/// then no line. Cost: that of journal::append, without the copy. The copy is made for an argument of a type that the
/// program formats: such a formatter may append, too.
template <class... Arguments>
std::uint64_t print_line(journal& log, message_format<Arguments...> format, Arguments&&... arguments) {
  if constexpr (!(detail::standard_argument<Arguments> && ...)) {
    fmt::memory_buffer text;
    fmt::vformat_to(fmt::appender(text), format.text(), fmt::make_format_args(arguments...));
    return log.append({text.data(), text.size()});
  }
  return log.append_with([&](char* buffer, std::size_t room) {
    return detail::format_message<Arguments...>(buffer, room, format, arguments...);
  });
}

}  // namespace tarn::io
