// Bytes of a fuzzer as a recording's file, and all that is made of such a file.
//
// Checksums and compression would keep a fuzzer out of everything behind them. So only where the first byte is 0 are
// the others a file as it is. Else they are blocks, each of them a byte for its kind, two for its size, and its
// content.
#pragma once

#include <string>
#include <string_view>

namespace tarn::fuzz {

// The recording's file.
std::string file_from(std::string_view input);
// The input that gives the blocks of `file`, which must be whole.
std::string input_from(std::string_view file);

// Reads it and makes everything of it: findings, names, predictions, advice, and the difference to itself. Aborts where
// something refers to what is not there, or what was read is not what is read of it when it is written again.
void examine(std::string_view file);

}  // namespace tarn::fuzz
