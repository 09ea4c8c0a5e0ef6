// Reads a file or descriptor through a buffer that the caller can see: lines, records and blocks are views of it.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tarn::io {

/// Options of a reader. Sizes are in bytes.
struct reader_options {
  /// Bytes per system call. 64 KiB is the measured optimum: more is not faster, and less is slower
  /// (docs/design/io.md).
  std::size_t buffer_bytes = 64 * 1024;
  /// The longest record in bytes, if that is more than the buffer. A longer one is an error (EMSGSIZE), so that the
  /// buffer stays bounded.
  std::size_t max_record_bytes = std::size_t{1} << 30;
};

/// Reads lines, records and blocks. Threads: one at a time; it takes no lock. A view stays valid until the next call
/// of any function. Errors: all functions throw io::error when the system refuses something; block() returns what was
/// read before that. Cost: one system call for each buffer, and no copy except where a result lies across two buffers.
class reader {
 public:
  /// Opens the file, or takes it over. Throws io::error.
  explicit reader(std::string path, reader_options options = {});
  explicit reader(file source, reader_options options = {});
  reader(reader&&) noexcept = default;
  reader& operator=(reader&&) noexcept = default;
  ~reader() = default;

  /// Returns the next line without its '\n', or nothing at the end. Text behind the last '\n' counts as a line. Cost:
  /// a memchr, a call of read(2) for each buffer, and a copy for a line that lies across
  /// two buffers.
  std::optional<std::string_view> line() { return record('\n'); }

  /// Does the same for records that end with another byte.
  std::optional<std::string_view> record(char end) {
    const char* const start = position_;
    if (const void* const newline = std::memchr(start, end, static_cast<std::size_t>(filled_ - start))) [[likely]] {
      const char* const stop = static_cast<const char*>(newline);
      position_ = stop + 1;
      return std::string_view(start, static_cast<std::size_t>(stop - start));
    }
    return record_slow(end);
  }

  /// Returns everything in the buffer, and fills the buffer first if it is empty. The result is empty only at the
  /// end.
  std::string_view block() {
    if (position_ == filled_ && !fill()) return {};
    const std::string_view unread(position_, static_cast<std::size_t>(filled_ - position_));
    position_ = filled_;
    return unread;
  }

  /// Returns exactly `bytes` bytes, or as many as are left before the end. The buffer grows to hold them.
  std::string_view block(std::size_t bytes);

  /// Returns the same bytes as block(bytes), and leaves them to be read again.
  std::string_view peek(std::size_t bytes);

  /// Returns the part of the buffer that was not consumed yet. It makes no system call and copies nothing.
  std::string_view buffered_text() const noexcept { return {position_, static_cast<std::size_t>(filled_ - position_)}; }

  /// Copies up to `bytes` bytes; fewer only at the end. Large copies bypass the buffer.
  std::size_t read(void* buffer, std::size_t bytes);

  /// Skips up to `bytes` bytes and returns how many there were. It reads them, because a pipe cannot seek.
  std::uint64_t skip(std::uint64_t bytes);

  /// Returns the offset of the next byte in the file or stream.
  std::uint64_t offset() const noexcept { return source_.offset() - static_cast<std::uint64_t>(filled_ - position_); }
  /// Returns the open file. Its own offset is ahead of the reader's by what is in the buffer.
  const file& source() const noexcept { return source_; }

 private:
  std::optional<std::string_view> record_slow(char end);
  bool fill();                   // fills the empty buffer; returns false at the end
  bool fill_more(std::size_t);   // moves the content to the front and adds to it; returns false at the end
  void grow(std::size_t bytes);  // makes the buffer hold at least `bytes`

  // Invariant: buffer_ <= position_ <= filled_ <= buffer_ + capacity_; [position_, filled_) is read and not consumed.
  const char* position_ = nullptr;
  const char* filled_ = nullptr;
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> buffer_;
  reader_options options_;
  file source_;
};

}  // namespace tarn::io
