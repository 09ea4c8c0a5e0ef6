// A file as memory, with an error instead of a signal when it becomes shorter.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tarn::io {

/// A read-only mapping of a whole file; of what cannot be mapped (a pipe, a file of /proc, an empty file), a copy in
/// memory that was read to the end. Any number of threads may read; check() too.
///
/// **When the file becomes shorter**, or the disk fails, a mapping's pages are gone, and the system sends SIGBUS to who
/// reads them. The first mapped_file of a process therefore installs a handler of SIGBUS. In mappings of this class the
/// lost pages then read as zeros and check() throws; any other SIGBUS goes to the handler that was there before. Call
/// check() after reading and before you believe what you have read; count, find and lines do.
class mapped_file {
 public:
  explicit mapped_file(std::string path);
  explicit mapped_file(file source);
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;
  ~mapped_file();

  /// All of it, as long as it was when it was mapped. Valid as long as this object.
  std::string_view view() const noexcept { return {start_, bytes_}; }
  operator std::string_view() const noexcept { return view(); }
  std::size_t size() const noexcept { return bytes_; }
  /// False where it is a copy.
  bool is_mapped() const noexcept { return mapping_ != nullptr; }

  /// Throws when the file has become shorter, or a page of it could not be read. Cost: one system call.
  void check() const;

  /// Has the next `bytes` from `offset` on at hand in one call instead of a page fault for each 64 KiB. Advice: what
  /// the system cannot do is left.
  void prepare(std::size_t offset, std::size_t bytes) const noexcept;

  const file& source() const noexcept { return source_; }

 private:
  struct watched;  // a range that the signal handler knows
  void map(std::size_t bytes);
  void read_all();
  void drop() noexcept;

  const char* start_ = nullptr;
  std::size_t bytes_ = 0;
  watched* mapping_ = nullptr;
  std::string copy_;
  file source_;
};

}  // namespace tarn::io
