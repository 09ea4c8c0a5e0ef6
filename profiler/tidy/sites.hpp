// The places where a recording wants an edit.
#pragma once

#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tarn::tidy {

// Returns the path without links and "..", so that one file has one name.
std::string real_path(llvm::StringRef path);

// A line that allocates. `bytes` is the size that nine of ten of its buffers do not exceed at the end; 0 where the
// recording does not tell.
struct site {
  std::string check;
  std::string file;
  unsigned line = 0;
  std::uint64_t bytes = 0;
};

class site_list {
 public:
  // Reads the sites of one check from a file of JSON, or those of all for an empty name. Returns the error in the file,
  // or an empty text.
  std::string read(llvm::StringRef path, llvm::StringRef check);
  const std::vector<site>& entries() const { return sites_; }

  // Returns the site whose line is one of the lines of `range`, or null.
  const site* find(const clang::SourceManager& sources, clang::SourceRange range) const;

 private:
  std::vector<site> sites_;
};

}  // namespace tarn::tidy
