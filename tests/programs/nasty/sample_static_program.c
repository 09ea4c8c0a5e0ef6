// A static program with every allocation sampled. Its unwinder has a lock under which it calls malloc.
//@ no-preload
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by text
#include "static_program.c"
