// An open file or another descriptor, with the name that its errors show.
#pragma once

#include <tarn/detail/language.hpp>

#include <tarn/io/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tarn::io {

/// Says what opening a file for writing does with an existing one.
enum class if_exists {
  replace,  ///< empties it
  append,   ///< appends: every write goes to the end that the file has by then
  refuse,   ///< fails: "File exists"
};

/// Owns or borrows a descriptor. Threads: one at a time. Calls are repeated after an interruption by a signal
/// (EINTR), and wait when a non-blocking descriptor would block (EAGAIN). Every failure throws io::error. Cost: one
/// system call for each function that opens, reads, writes, synchronises or closes; opening also copies the name.
class file {
 public:
  file() noexcept = default;
  /// Opens a file for reading.
  static file open_to_read(std::string path);
  /// Opens a file for writing; a new one has permissions `mode`, less the umask.
  static file open_to_write(std::string path, if_exists existing = if_exists::replace, unsigned mode = 0666);
  /// Opens a file for reading and writing, and creates it if there is none.
  static file open_to_update(std::string path, unsigned mode = 0666);
  /// Wraps a descriptor that is already open, and closes it at the end. Errors show `name`.
  static file adopt(int descriptor, std::string name);
  /// Does the same as adopt(), but leaves the descriptor open at the end.
  static file borrow(int descriptor, std::string name);

  file(file&& source) noexcept;
  file& operator=(file&& source) noexcept;
  /// Closes the file. An error of close(2) is lost here; close() throws it.
  ~file();

  /// Returns true until the file is closed or moved from.
  bool is_open() const noexcept { return descriptor_ >= 0; }
  /// Returns the descriptor, -1 when there is none.
  int descriptor() const noexcept { return descriptor_; }
  /// Returns the path, or the name that was given.
  const std::string& name() const noexcept { return name_; }

  /// Returns the offset that errors report: the bytes read and written through this object, plus the position that a
  /// seekable descriptor had when it was opened.
  std::uint64_t offset() const noexcept { return offset_; }

  /// Reads between 1 and `bytes` bytes, mostly in one system call. Returns 0 at the end, and when `bytes` is 0.
  std::size_t read_some(void* buffer, std::size_t bytes);

  /// Writes the parts in order, with as few calls as possible, and returns the number of bytes: all of them, unless
  /// an error follows a part that was already written. The next call then reports that error.
  std::size_t write_some(std::span<const std::string_view> parts);

  /// Waits until the data is on the disk. Does nothing for what has no disk, such as a pipe.
  void sync();
  /// Closes an owned descriptor and throws what close(2) reports. The file is closed in any case.
  void close();

  /// Throws an io::error with this file's name and offset. `number` is an errno value; `failed` says what could not be
  /// done.
  [[noreturn]] void fail(int number, std::string_view failed) const;

 private:
  friend class batch_work;
  file(int descriptor, bool is_owned, std::string name);
  file(int descriptor, bool is_owned, std::string name, std::uint64_t offset) noexcept
      : descriptor_(descriptor), is_owned_(is_owned), offset_(offset), name_(std::move(name)) {}

  int descriptor_ = -1;
  bool is_owned_ = false;
  std::uint64_t offset_ = 0;
  std::string name_;
};

}  // namespace tarn::io
