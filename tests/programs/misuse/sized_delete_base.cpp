// A derived object deleted through a base without virtual destructor: the size is the base's.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}, 16): wrong size: the block has 208 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
#include "../guarded.h"

struct base {
  long fields[2] = {};
};
struct derived : base {
  long values[24] = {};
};

int main() {
  base* p = new derived;
  note_guarded(p);
  delete static_cast<base*>(hidden(p));
}
