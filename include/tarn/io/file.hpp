// An open file or any other descriptor, with the name that its errors carry.
#pragma once

#include <tarn/io/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tarn::io {

/// What opening a file to write does with one that is there.
enum class creation {
  replace,  ///< empties it
  append,   ///< every write goes to its end, wherever that is by then
  refuse,   ///< fails: "File exists"
};

/// Owns or borrows a descriptor. One thread at a time. Calls are repeated after an interruption by a signal (EINTR) and
/// wait where a descriptor that does not block would block (EAGAIN). Everything that fails throws io::error.
class file {
 public:
  file() noexcept = default;
  static file open_to_read(std::string path);
  static file open_to_write(std::string path, creation how = creation::replace, unsigned mode = 0666);
  /// To read and to write, made if it is not there.
  static file open_to_update(std::string path, unsigned mode = 0666);
  /// A descriptor that somebody opened; `name` is what errors call it. adopt() closes it, borrow() does not.
  static file adopt(int descriptor, std::string name);
  static file borrow(int descriptor, std::string name);

  file(file&& other) noexcept;
  file& operator=(file&& other) noexcept;
  /// Closes. What close(2) then reports is lost; close() throws it.
  ~file();

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  const std::string& name() const noexcept { return name_; }

  /// Bytes from where this file stood when it was opened, for errors' offsets: those that it has read and written,
  /// added to where a descriptor that can seek stood at the beginning.
  std::uint64_t offset() const noexcept { return offset_; }

  /// Reads between 1 and `bytes` bytes; 0 at the end, and for `bytes` of 0. One system call as a rule.
  std::size_t read_some(void* place, std::size_t bytes);

  /// Writes parts in order with as few calls as it takes, and returns how many bytes; all of them, unless an error
  /// came after a part had been written. Then the next call reports it.
  std::size_t write_some(std::span<const std::string_view> parts);

  /// Waits until the data is on the disk. What cannot be on a disk, such as a pipe, is left alone.
  void sync();
  /// Closes what is owned; throws what close(2) reports. The file is closed in any case.
  void close();

  /// Throws an error of this file, with its name and offset.
  [[noreturn]] void fail(int number, std::string_view failed) const;

 private:
  friend class batch_work;
  file(int descriptor, bool owned, std::string name);
  file(int descriptor, bool owned, std::string name, std::uint64_t offset) noexcept
      : descriptor_(descriptor), owned_(owned), offset_(offset), name_(std::move(name)) {}

  int descriptor_ = -1;
  bool owned_ = false;
  std::uint64_t offset_ = 0;
  std::string name_;
};

}  // namespace tarn::io
