// The right sizes pass the check of TARN_GUARD=1, too.
//@ env TARN_GUARD=1
//@ broken-by sized_delete_crashes
#include "delete_sized.cpp"
