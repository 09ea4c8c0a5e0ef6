// Which functions on a stack only pass on what they were called for: xmalloc, operator new, the standard library. The
// first that is none of them decides, and is the one to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analyse/findings.hpp"
#include "analyse/symbols.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

// By its name, its file or its module.
bool passes_on(const place& at);
// A source of Rust's standard library.
bool is_of_rusts_library(std::string_view file);
// Whether its source is of a language in which no remedy of Tarn can be written. Known from debug information alone.
bool is_of_another_language(const place& at);
// The C library, the standard library of C++, the recorder.
bool is_of_the_language(const std::string& module);

// Where in each site's stack the function is that decides. A function without a name is passed, too, if it calls one
// that passes on, or if three callers and more allocate through it: two such at most.
class deciders {
 public:
  deciders(const format::recording& in, const std::vector<site>& sites, symbols& by);

  // The frame of the site that has it; 0 where all of them pass on.
  std::size_t frame_of(std::uint32_t site) const { return frames_[site]; }

 private:
  std::vector<std::uint32_t> frames_;  // by site
};

// Sites of one category whose stacks are the same up to the function that decides, as one: the first of each in
// `sites`, with the sums of all of them. Those where 90 % of the blocks are short-lived are kept apart from the others,
// as their remedies are. In the order of `sites`.
std::vector<site> grouped(const format::recording& in, const std::vector<site>& sites, const deciders& by);

}  // namespace tarn::analyse
