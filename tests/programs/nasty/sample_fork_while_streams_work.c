// Forks while streams work, with every allocation sampled: the lock of the slots, too, is taken after the lock of the
// list of streams.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by text
#include "fork_while_streams_work.c"
