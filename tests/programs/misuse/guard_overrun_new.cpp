// One element behind an array of operator new.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 4 bytes written past the end of the block of 20 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 20
#include "../guarded.h"

int main() {
  int* p = new int[5];
  note_guarded(p);
  static_cast<int*>(hidden(p))[5] = 0;
  delete[] p;
}
