// Turns a fuzzer's bytes into a trace excerpt of one thread's heap use, plans it and replays it in every way.
#pragma once

#include <string_view>

namespace tarn::fuzz {

// Aborts when a plan cannot be played, when a way releases a block twice, never, or to another allocator than its
// own, or when two ways differ in the work between their actions. Then plays all ways once.
void replay_trace(std::string_view input);

}  // namespace tarn::fuzz
