// Addresses of a recording as functions, files and lines.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "format/recording.hpp"

namespace tarn::analyse {

struct place {
  std::string function;  // demangled; empty where it is not known
  std::string file;      // empty where there is no debug information
  int line = 0;
  std::string module;        // path
  std::uint64_t offset = 0;  // of the address in the module
};

// Reads the modules' files, and their split debug files where elfutils finds them. A file that is not the recorded one
// (another build id) is not used. One thread at a time.
class symbols {
 public:
  explicit symbols(const format::recording& of);
  symbols(const symbols&) = delete;
  symbols& operator=(const symbols&) = delete;
  ~symbols();

  // Of a return address: the call before it. Functions that were inlined there come first. Cached.
  const std::vector<place>& of(std::uint32_t image, std::uint64_t frame);

 private:
  struct files;  // of one image
  files& files_of(std::uint32_t image);

  const format::recording& recording_;
  std::map<std::uint32_t, std::unique_ptr<files>> images_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<place>> known_;
};

}  // namespace tarn::analyse
