// Starts the engine in a program that has the drop-in inside.
#include "memory/thread/threads.hpp"

// These functions run before the constructors of the program's libraries, which may install fork handlers
// (memory/thread/fork.cpp).
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*const start_before_libraries)(int, char**, char**) = tarn::threads::start_engine;
