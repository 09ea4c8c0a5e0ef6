// Reads a journal: every line whose append returned, and which ones were cut off or damaged.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::io {

struct journal_line {
  enum class condition : std::uint8_t {
    whole,
    torn,     ///< its append had not returned when the process died, or has not yet; without text
    damaged,  ///< whole once, and changed since; without text
  };
  std::uint64_t number;  ///< as append() returned it; what it would have been for a line that is torn
  condition is;
  std::string_view text;
};

/// A copy of what is in a journal now. Reads only, and never waits for who appends: what is appended meanwhile may or
/// may not be seen, and the lines that are overwritten meanwhile are not. Whatever is in the file, it ends and gives no
/// line that was not appended. One thread at a time.
class journal_reader {
 public:
  /// Throws io::error when it cannot be read or is not a journal.
  explicit journal_reader(std::string path);

  /// In the order in which they were appended. Views of this object.
  const std::vector<journal_line>& lines() const noexcept { return lines_; }

  std::size_t torn() const noexcept { return torn_; }
  std::size_t damaged() const noexcept { return damaged_; }
  /// Chunks that are no chunks of this journal any more, and pieces of chunks behind which nothing can be found.
  std::size_t lost_pieces() const noexcept { return lost_pieces_; }

 private:
  struct walk;

  std::vector<std::string> chunks_;
  std::vector<journal_line> lines_;
  std::size_t torn_ = 0;
  std::size_t damaged_ = 0;
  std::size_t lost_pieces_ = 0;
};

}  // namespace tarn::io
