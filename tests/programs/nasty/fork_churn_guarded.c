// fork while four threads allocate, with every free checked under one lock.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by fork_deadlock
//@ timeout 40
#define FORKS 100  // the children wait long for the processors, on which four threads wait for that lock
#include "fork_churn.c"
