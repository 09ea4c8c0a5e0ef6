// Notes a malloc or operator new of the program's own, which takes precedence over ours. Otherwise a heap that was
// not seen would look like one that was not used.
#pragma once

namespace tarn::preload {

// Repeats the note in a child of fork, whose region has none yet. Call it in the recorder.
void note_own_heap_anew() noexcept;

// Notes them in a program that has run without the recorder: what its own file defines, it calls without its table of
// addresses.
void note_own_heap_of_program() noexcept;

}  // namespace tarn::preload
