// An object deleted twice.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 48 bytes
#include "../check.h"

struct object {
  long fields[6] = {};
};

int main() {
  auto* p = new object;
  note_pointer("p", p);
  delete p;
  delete static_cast<object*>(hidden(p));
}
