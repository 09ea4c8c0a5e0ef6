// Reads the lines that were appended to a journal since the last call.
#pragma once

#include <tarn/io.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/journal_format.hpp"

namespace tarn::command {

// A line that was found. It has its own copy of the text, because the file changes.
struct followed_line {
  std::uint64_t session = 0, tick = 0;  // in the order of both, lines were appended
  std::uint64_t number = 0;
  bool is_damaged = false;  // changed after it was complete; without text
  std::string text;
};

// Follows one file. A line that is not complete yet is found by a later call. A file that is truncated is followed
// from its new beginning. Lines that are overwritten between two calls are missed.
class journal_follower {
 public:
  // Throws io::error when the file cannot be opened.
  explicit journal_follower(const std::string& path);

  // Returns the lines that are new since the last call, in the order of their appends. Throws io::error when the file
  // cannot be read or is not a journal. A file that has no header yet has no lines.
  std::vector<followed_line> take();

  // Returns whether `path` names the followed file.
  bool is_at(const std::string& path) const;

 private:
  struct chunk_position {
    std::uint64_t number = 0;  // of the chunk; 0: none
    std::uint64_t lines = 0;   // that were returned
    std::size_t offset = 0;    // where the next line begins
  };

  bool read_header();
  std::size_t read_at(void* target, std::size_t bytes, std::uint64_t offset) const;
  void take_chunk(std::uint64_t slot, std::vector<followed_line>& new_lines);

  io::file file_;
  io::journal_format::header header_{};
  std::vector<chunk_position> positions_;  // by slot
  std::string chunk_;
};

}  // namespace tarn::command
