// The same, at an address that differs from run to run.
//@ no-preload
//@ tarn-only
//@ broken-by text
#include "static_program.c"
