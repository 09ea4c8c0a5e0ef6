// The same, in a static program.
//@ no-preload
//@ tarn-only
//@ broken-by malloc_short
#include "../conformance/some_operators.cpp"
