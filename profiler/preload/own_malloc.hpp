// Notes a malloc or operator new of the program's own, which takes precedence over ours. Otherwise a heap that was
// not seen would look like one that was not used.
#pragma once

namespace tarn::preload {

// Repeats the note in a child of fork, whose region has none yet. Call it in the recorder.
void note_own_malloc_anew() noexcept;

// Notes them in a program that began without the recorder: it calls the functions of its own file directly, and not
// through its table of addresses.
void note_own_malloc_of_program() noexcept;

}  // namespace tarn::preload
