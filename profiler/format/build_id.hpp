#pragma once

#include <string>

namespace tarn::format {

// Returns the build id from the notes of an ELF file, in hexadecimal; empty if there is none or the file cannot be
// read.
std::string build_id_of(const std::string& path);

}  // namespace tarn::format
