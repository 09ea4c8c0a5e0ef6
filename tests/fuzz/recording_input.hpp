// Turns a fuzzer's bytes into a recording's file, and evaluates such a file.
//
// Checksums and compression would hide everything behind them from the fuzzer. So the bytes are a file as it is only
// if the first byte is 0. Otherwise they are blocks, each with one byte for its kind, two for its size, and its
// content.
#pragma once

#include <string>
#include <string_view>

namespace tarn::fuzz {

// Returns the recording's file.
std::string file_from(std::string_view input);
// Returns the input that yields the blocks of `file`, which must be complete.
std::string input_from(std::string_view file);

// Reads and evaluates it: findings, names, predictions, advice, and the difference to itself. Aborts on a reference
// to something that does not exist, or if writing and reading it again changes it.
void examine(std::string_view file);

}  // namespace tarn::fuzz
