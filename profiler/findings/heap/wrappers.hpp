// Finds the functions on a stack that only allocate for their callers: xmalloc, operator new, the standard library.
// The first function that is none of them decides about the allocation, and is the one to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/findings/heap/findings.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// Returns whether a function only allocates for its callers, judged by its name, what it returns, its file or its
// module.
bool is_wrapper(const code_location& location);
// Returns whether a function of the standard library gives a container a larger buffer and frees the old one, judged by
// its name.
bool grows_container(std::string_view function);
// Returns whether a container freed the block because it had outgrown it. `functions` are those on the stack of the
// free, the innermost first.
bool is_outgrown(const std::vector<code_location>& functions);
// Returns whether the file is a source of Rust's standard library.
bool is_of_rusts_library(std::string_view file);
// Returns whether the source is in a language in which no remedy of Tarn can be written. Only debug information tells
// this.
bool is_of_another_language(const code_location& location);
// Returns whether the module is the C library, the standard library of C++, or the recorder.
bool is_runtime_module(const std::string& module);

// Finds the deciding function in the stack of each site. A function without a name is also skipped if it calls a
// function that allocates for others, or if three or more callers allocate through it; the second rule skips at most
// two functions. `wrappers` names functions, with or without scopes, that only allocate for their callers; they are
// skipped with all that they call.
class deciding_frames {
 public:
  deciding_frames(const format::recording& recording, const std::vector<site>& sites, symbols& symbols,
                  const std::vector<std::string>& wrappers = {});

  // Returns the index of the deciding frame of the site; 0 if all frames only allocate for their callers.
  std::size_t frame_of(std::uint32_t site) const { return frames_[site]; }

 private:
  std::vector<std::uint32_t> frames_;  // by site
};

// Combines the sites of one category whose stacks are equal up to the deciding function: the first one in `sites`
// gets the sums of all. Sites where 90 % of the blocks are short-lived stay apart from the others, because their
// remedies differ. Keeps the order of `sites`.
std::vector<site> group_sites(const format::recording& recording, const std::vector<site>& sites,
                              const deciding_frames& deciding_frames);

}  // namespace tarn::analyse
