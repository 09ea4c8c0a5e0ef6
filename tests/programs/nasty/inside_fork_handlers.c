// The same with the drop-in as a part of the program, whose constructors run after those of the library.
//@ no-preload
//@ tarn-only
//@ broken-by text
#define FORKS 1000
#include "fork_handlers_first.c"
