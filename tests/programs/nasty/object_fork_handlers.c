// The same with the drop-in as a part of the program, whose constructors run after those of the library.
//@ no-preload
//@ tarn-only
//@ broken-by nothing
#define FORKS 1000
#include "fork_handlers_first.c"
