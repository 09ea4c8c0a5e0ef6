// A file as memory. It reports an error instead of dying by a signal when the file becomes shorter.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tarn::io {

class watched_mapping;  // the signal handler's record of a mapping

/// A read-only mapping of a whole file. What cannot be mapped (a pipe, a file of /proc, an empty file) is read to the
/// end into memory instead. Threads: any number may read and call check(). Cost: a few system calls to open and map the
/// file, and a page fault for each 64 KiB that are read and not prefetched.
///
/// **When the file becomes shorter**, or the disk fails, the pages of a mapping are gone, and the system sends SIGBUS
/// to a thread that reads them. The first mapped_file of a process therefore installs a handler for SIGBUS. Lost
/// pages in mappings of this class then read as zeros, and check() throws; any other SIGBUS goes to the earlier
/// handler. Call check() after reading, before you trust what you have read; count, find and lines do so.
class mapped_file {
 public:
  /// Maps the file. Throws io::error when it cannot be opened or read.
  explicit mapped_file(std::string path);
  explicit mapped_file(file source);
  mapped_file(mapped_file&& source) noexcept;
  mapped_file& operator=(mapped_file&& source) noexcept;
  ~mapped_file();

  /// Returns the content, with the length that the file had when it was mapped. It stays valid as long as this
  /// object.
  std::string_view view() const noexcept { return {start_, bytes_}; }
  operator std::string_view() const noexcept { return view(); }
  std::size_t size() const noexcept { return bytes_; }
  /// Returns false for a copy in memory.
  bool is_mapped() const noexcept { return mapping_ != nullptr; }

  /// Throws io::error when the file has become shorter, or when one of its pages could not be read. Cost: one system
  /// call.
  void check() const;

  /// Prefetches `bytes` bytes from `offset` on in one call, instead of one page fault for each 64 KiB. This is
  /// advice: the system may ignore it.
  void prepare(std::size_t offset, std::size_t bytes) const noexcept;

  /// Returns the open file.
  const file& source() const noexcept { return source_; }

 private:
  void map(std::size_t bytes);
  void read_all();
  void drop() noexcept;

  const char* start_ = nullptr;
  std::size_t bytes_ = 0;
  watched_mapping* mapping_ = nullptr;
  std::string copy_;
  file source_;
};

}  // namespace tarn::io
