// fork while four threads allocate and a thread of the allocator gives memory back.
//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=1
//@ env TARN_PURGE_DELAY_MS=1
//@ broken-by fork_deadlock
#include "fork_churn.c"
