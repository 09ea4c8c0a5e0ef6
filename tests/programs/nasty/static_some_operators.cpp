// The same, in a static program.
//@ no-preload
//@ tarn-only
//@ broken-by text
#include "../conformance/some_operators.cpp"
