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

struct writer_options {
  std::size_t buffer = 64 * 1024;  ///< bytes handed to the system at once
  creation how = creation::replace;
  unsigned mode = 0666;  ///< of a new file, less the umask
};

/// One thread at a time. What is in the buffer is lost when the process dies: see tarn::io::journal for lines that
/// must not be.
///
/// Errors: every function that writes may throw io::error. A call that returns has taken all of its bytes; one that
/// throws has taken none of them. What was taken and could not be written stays in the buffer, so that a flush() goes
/// on where the last one stopped once there is room again. Give up with discard().
class writer {
 public:
  explicit writer(std::string path, writer_options options = {});
  explicit writer(file target, writer_options options = {});
  writer(writer&& other) noexcept;
  writer& operator=(writer&& other) noexcept;
  /// Flushes and closes. A destructor cannot throw: what then could not be written is said in one line on standard
  /// error, with the number of bytes that are lost. Call close() to have it thrown instead.
  ~writer();

  /// Cost: a copy into the buffer; a system call for each full buffer. What is larger than the buffer is not copied.
  void write(std::string_view bytes) {
    if (bytes.size() <= static_cast<std::size_t>(end_ - at_)) [[likely]] {
      std::memcpy(at_, bytes.data(), bytes.size());
      at_ += bytes.size();
    } else {
      write_slow({&bytes, 1});
    }
  }
  void write(char byte) { write(std::string_view(&byte, 1)); }

  /// The bytes, and a '\n'.
  void line(std::string_view bytes) {
    if (bytes.size() < static_cast<std::size_t>(end_ - at_)) [[likely]] {
      std::memcpy(at_, bytes.data(), bytes.size());
      at_[bytes.size()] = '\n';
      at_ += bytes.size() + 1;
    } else {
      gather({bytes, "\n"});
    }
  }

  /// All parts in order. What does not fit goes out together with the buffer, in one call and without a copy (writev).
  void gather(std::span<const std::string_view> parts);
  void gather(std::initializer_list<std::string_view> parts) { gather(std::span(parts.begin(), parts.size())); }

  /// Room for `bytes` in the buffer itself, which is flushed or grown for it; then say how many were used. Nothing may
  /// be called in between.
  char* reserve(std::size_t bytes);
  void commit(std::size_t used) noexcept { at_ += used; }
  /// Room that reserve() has without a flush.
  std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  /// Hands everything to the system: it survives the end of this process, not that of the machine.
  void flush();
  /// flush(), and waits for the disk.
  void sync();
  /// flush(), and closes. The writer can only be destroyed or assigned to afterwards.
  void close();
  /// Drops what is in the buffer; how many bytes.
  std::size_t discard() noexcept;

  std::size_t buffered() const noexcept { return static_cast<std::size_t>(at_ - first_); }
  /// Where the next byte will stand in the file or stream.
  std::uint64_t offset() const noexcept { return target_.offset() + buffered(); }
  const file& target() const noexcept { return target_; }

 private:
  void write_slow(std::span<const std::string_view> parts);

  // Invariant: buffer_ <= first_ <= at_ <= end_ == buffer_ + capacity_; [first_, at_) is to be written.
  char* at_ = nullptr;
  char* end_ = nullptr;
  char* first_ = nullptr;  // not buffer_ only after an error that came in the middle
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> buffer_;
  file target_;
};

}  // namespace tarn::io
