// Writes a file or descriptor through a buffer: many small writes, few system calls, no lock.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tarn::io {

/// Options of a writer.
struct writer_options {
  std::size_t buffer_bytes = 64 * 1024;  ///< bytes per system call
  /// Says what opening does with an existing file.
  if_exists existing = if_exists::replace;
  unsigned mode = 0666;  ///< permissions of a new file, before the umask
};

/// Writes a file or another descriptor through a buffer. Threads: one at a time; it takes no lock. The content of the
/// buffer is lost when the process dies; use tarn::io::journal for lines that must survive.
///
/// Errors: every function that writes may throw io::error. A call that returns has taken all of its bytes; a call
/// that throws has taken none. Bytes that were taken and could not be written stay in the buffer, so that a later
/// flush() continues where the last one stopped. discard() gives them up.
class writer {
 public:
  /// Opens the file, or takes it over. Throws io::error.
  explicit writer(std::string path, writer_options options = {});
  explicit writer(file target, writer_options options = {});
  writer(writer&& source) noexcept;
  writer& operator=(writer&& source) noexcept;
  /// Flushes and closes. A destructor cannot throw: if something cannot be written, it says so in one line on
  /// standard error, with the number of lost bytes, unless close() has thrown that already. Call close() to get an
  /// exception instead.
  ~writer();

  /// Writes the bytes. Cost: a copy into the buffer, and a system call for each full buffer. Writes larger than the
  /// buffer are not copied.
  void write(std::string_view bytes) {
    if (bytes.size() <= static_cast<std::size_t>(end_ - position_)) [[likely]] {
      bytes.copy(position_, bytes.size());
      position_ += bytes.size();
    } else {
      write_slow({&bytes, 1});
    }
  }
  void write(char byte) { write(std::string_view(&byte, 1)); }

  /// Writes the bytes and a '\n'.
  void line(std::string_view bytes) {
    if (bytes.size() < static_cast<std::size_t>(end_ - position_)) [[likely]] {
      bytes.copy(position_, bytes.size());
      position_[bytes.size()] = '\n';
      position_ += bytes.size() + 1;
    } else {
      gather({bytes, "\n"});
    }
  }

  /// Writes all parts in order. Parts that do not fit go out with the buffer in one call, without a copy (writev).
  void gather(std::span<const std::string_view> parts);
  void gather(std::initializer_list<std::string_view> parts) { gather(std::span(parts.begin(), parts.size())); }

  /// Returns room for `bytes` bytes in the buffer itself, which is flushed or grown for it. Call commit() next, with
  /// the number of bytes that you wrote there.
  char* reserve(std::size_t bytes);
  /// Adds the first `bytes` bytes of what reserve() returned.
  void commit(std::size_t bytes) noexcept { position_ += bytes; }
  /// Returns the number of bytes that reserve() can give without a flush.
  std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - position_); }

  /// Passes everything to the system. It then survives the end of this process, but not of the machine.
  void flush();
  /// Flushes, and waits for the disk.
  void sync();
  /// Flushes and closes. Afterwards the writer can only be destroyed or assigned to: a write throws. When
  /// something cannot be written, the file stays open, and another close() tries again.
  void close();
  /// Drops the content of the buffer, and returns its size in bytes.
  std::size_t discard() noexcept;

  /// Returns the bytes in the buffer that the system does not have yet.
  std::size_t buffered_bytes() const noexcept { return static_cast<std::size_t>(position_ - first_); }
  /// Returns the offset that the next byte will have in the file or stream.
  std::uint64_t offset() const noexcept { return target_.offset() + buffered_bytes(); }
  /// Returns the open file.
  const file& target() const noexcept { return target_; }

 private:
  void check_open() const;
  void write_slow(std::span<const std::string_view> parts);

  // Invariant: buffer_ <= first_ <= position_ <= end_ == buffer_ + capacity_; [first_, position_) is still to be
  // written.
  char* position_ = nullptr;
  char* end_ = nullptr;
  char* first_ = nullptr;  // differs from buffer_ only after an error in the middle
  std::size_t capacity_ = 0;
  std::uint64_t reported_end_ = ~std::uint64_t{0};  // offset() of a close() that has thrown
  std::unique_ptr<char[]> buffer_;
  file target_;
};

}  // namespace tarn::io
