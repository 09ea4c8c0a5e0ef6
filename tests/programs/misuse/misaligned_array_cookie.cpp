// delete instead of delete[] for a class with a destructor: eight bytes into the block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 96-byte block at {block}
#include "../check.h"

struct counted {
  ~counted() { ++value; }
  long value = 0;
};

int main() {
  auto* p = new counted[11];
  note_pointer("p", p);
  note_pointer("block", reinterpret_cast<char*>(p) - 8);
  ::operator delete(hidden(p));
}
