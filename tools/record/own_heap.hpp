// A program may have malloc or operator new of its own, which take precedence over ours: then that is noted, as nothing
// else tells a heap that was not seen from one that was not used.
#pragma once

namespace tarn::record {

// In a child of fork, whose region knows nothing of it yet. By the recorder.
void note_own_heap_anew() noexcept;

}  // namespace tarn::record
