// Reads journals back for the tests that write them.
#pragma once

#include <string>
#include <vector>

#include <tarn/io/journal.hpp>
#include <tarn/io/journal_reader.hpp>

namespace io_test {

/// A journal of 16 chunks, which is soon full.
inline constexpr tarn::io::journal_options small{.bytes = 16 * 1024, .chunk_bytes = 1024, .lanes = 4};

/// Returns the lines of a journal; a line that is not whole is replaced by its condition.
inline std::vector<std::string> texts_of(const std::string& path) {
  using condition = tarn::io::journal_line::condition;
  const tarn::io::journal_reader contents(path);
  std::vector<std::string> texts;
  for (const tarn::io::journal_line& line : contents.lines()) {
    texts.emplace_back(line.state == condition::whole  ? line.text
                       : line.state == condition::torn ? "(torn)"
                                                       : "(damaged)");
  }
  return texts;
}

}  // namespace io_test
