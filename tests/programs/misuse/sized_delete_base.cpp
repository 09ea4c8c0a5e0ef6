// A derived object deleted through a base without virtual destructor; checked with TARN_GUARD=1.
//@ tarn-only
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: free({p}, 16): wrong size: the block has 208 bytes
#include "../check.h"

struct base {
  long fields[2] = {};
};
struct derived : base {
  long more[24] = {};
};

int main() {
  base* p = new derived;
  note_pointer("p", p);
  delete static_cast<base*>(hidden(p));
}
