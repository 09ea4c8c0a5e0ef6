// fork while four threads allocate, with every free checked under one lock.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by fork_deadlock
//@ timeout 40
#include "fork_churn.c"
