// Small texts from programs and files.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace tarn::fix {

// Returns the content of a file; empty for a file that cannot be read.
inline std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace tarn::fix
