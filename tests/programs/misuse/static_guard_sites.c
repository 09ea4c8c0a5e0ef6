// A static program has no loader to ask; the sites of guarded blocks are in the program all the same.
//@ no-preload
//@ env TARN_GUARD=1
//@ broken-by text TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 24 bytes; freed before at {program}+{freed} by thread {thread};
//@ more allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn: free each block once: remove one of these two frees
#include "../guarded.h"

int main(void) {
  char* p = malloc(24);
  note_guarded(p);
  free(p);
freed_at:
  note_pointer("freed", (char*)&&freed_at - 1);
  free(hidden(p));
  return 0;
}
