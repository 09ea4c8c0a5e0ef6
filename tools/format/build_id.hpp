#pragma once

#include <string>

namespace tarn::format {

// The build id in an ELF file's notes, in hexadecimal; empty when there is none or the file cannot be read.
std::string build_id_of(const std::string& path);

}  // namespace tarn::format
