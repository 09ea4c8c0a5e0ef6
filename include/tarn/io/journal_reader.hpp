// Reads a journal: every line whose append returned, and the numbers of lines that were cut off or damaged.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::io {

/// A line of a journal, or the trace of one.
struct journal_line {
  /// Says whether the text can be trusted.
  enum class condition : std::uint8_t {
    /// complete, with a correct checksum
    whole,
    torn,     ///< its append had not returned when the process died, or has not returned yet; without text
    damaged,  ///< changed after it was complete; without text
  };
  std::uint64_t number;  ///< the number that append() returned, or would have returned for a torn line
  /// Condition of the line.
  condition state;
  /// The bytes of a whole line; empty for others. It is a view into the reader.
  std::string_view text;
};

/// Copies the present content of a journal. It only reads, and never waits for threads that append: it may or may not
/// see lines that are appended meanwhile, and does not see lines that are overwritten meanwhile. Whatever the file
/// contains, reading terminates and yields no line that was not appended. Threads: one at a time. Cost: the constructor
/// copies the whole content into memory, with up to three system calls for each chunk; the other functions only return.
class journal_reader {
 public:
  /// Throws io::error when the file cannot be read or is not a journal.
  explicit journal_reader(std::string path);

  /// Returns the lines in the order in which they were appended. They are views into this object.
  const std::vector<journal_line>& lines() const noexcept { return lines_; }

  /// Returns the number of torn lines.
  std::size_t torn_lines() const noexcept { return torn_; }
  /// Returns the number of damaged lines.
  std::size_t damaged_lines() const noexcept { return damaged_; }
  /// Returns the number of chunks that no longer belong to this journal, and of pieces of chunks after which nothing
  /// can be found.
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
