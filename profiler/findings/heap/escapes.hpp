// Tells from the excerpts whether blocks outlive the functions that allocate them.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/findings/heap/findings.hpp"
#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

enum class escape_verdict {
  unknown,   // no excerpt shows a block with the stack of its free, or containers outgrew all of them
  confined,  // the deciding function, or what it calls, frees the blocks
  escapes,   // it had ended when some of the blocks were freed: it returns or keeps them
};

// Compares the stack of each free with that of the allocation. The outer frames that are equal in both were active all
// the time; the next frame, too, if it is in the same function. Frames further in had ended before the free. A function
// that the same line calls again in the meantime looks as if it had not ended.
class escapes {
 public:
  escapes(const format::recording& recording, const deciding_frames& deciding_frames, symbols& symbols);

  // Judges all blocks of the site, with those of its merged sites.
  escape_verdict verdict_of(const site& site) const;

 private:
  struct frees {
    std::uint64_t count = 0, escaped = 0;
  };
  std::vector<frees> frees_;  // by site
};

}  // namespace tarn::analyse
