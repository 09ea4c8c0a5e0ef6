// Reads a file or descriptor through a buffer that the caller sees: lines, records and blocks are views of it.
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

struct reader_options {
  /// Bytes asked of the system at once. 64 KiB: of what was measured, more is not faster and less is
  /// (docs/design/io.md).
  std::size_t buffer = 64 * 1024;
  /// A record longer than this is an error (EMSGSIZE) instead of a buffer without a bound.
  std::size_t longest = std::size_t{1} << 30;
};

/// One thread at a time, and no lock anywhere. A view is valid until the next call of any function of the reader. All
/// functions throw io::error when the system refuses something; what had been read by then stays, for block() to take.
class reader {
 public:
  explicit reader(std::string path, reader_options options = {});
  explicit reader(file source, reader_options options = {});
  reader(reader&&) noexcept = default;
  reader& operator=(reader&&) noexcept = default;
  ~reader() = default;

  /// The next line without its '\n', or nothing at the end. What follows the last '\n' is a line if there is anything.
  /// Cost: a memchr; a call of read(2) for each buffer; a copy only of a line that lies across two buffers.
  std::optional<std::string_view> line() { return record('\n'); }

  /// The same for records that end with another byte.
  std::optional<std::string_view> record(char end) {
    const char* const start = at_;
    if (const void* const found = std::memchr(start, end, static_cast<std::size_t>(filled_ - start))) [[likely]] {
      const char* const stop = static_cast<const char*>(found);
      at_ = stop + 1;
      return std::string_view(start, static_cast<std::size_t>(stop - start));
    }
    return record_slow(end);
  }

  /// Everything that is in the buffer, which is filled first if it is empty. Empty only at the end.
  std::string_view block() {
    if (at_ == filled_ && !fill()) return {};
    const std::string_view all(at_, static_cast<std::size_t>(filled_ - at_));
    at_ = filled_;
    return all;
  }

  /// Exactly `bytes` bytes, or as many as are left before the end. The buffer grows to hold them.
  std::string_view block(std::size_t bytes);

  /// The same without taking them.
  std::string_view peek(std::size_t bytes);

  /// What is in the buffer now and was not taken: no call, nothing moves.
  std::string_view buffered() const noexcept { return {at_, static_cast<std::size_t>(filled_ - at_)}; }

  /// Copies up to `bytes` bytes, fewer only at the end; large ones go past the buffer.
  std::size_t read(void* place, std::size_t bytes);

  /// Moves on by up to `bytes`; how many there were. Reads what it skips, as a pipe needs it.
  std::uint64_t skip(std::uint64_t bytes);

  /// Where the next byte stands in the file or stream.
  std::uint64_t offset() const noexcept { return source_.offset() - static_cast<std::uint64_t>(filled_ - at_); }
  const file& source() const noexcept { return source_; }

 private:
  std::optional<std::string_view> record_slow(char end);
  bool fill();                   // the empty buffer; false at the end
  bool fill_more(std::size_t);   // behind what is there, which moves to the front; false at the end
  void grow(std::size_t bytes);  // the buffer holds as many at least

  // Invariant: buffer_ <= at_ <= filled_ <= buffer_ + capacity_; [at_, filled_) is read and not taken.
  const char* at_ = nullptr;
  const char* filled_ = nullptr;
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> buffer_;
  reader_options options_;
  file source_;
};

}  // namespace tarn::io
