// An overrun that wipes out the description of the next block, which is freed first: the culprit is named.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({next}): overrun: 8 or more bytes written past the end of the block of 24 bytes at {p}
//@ more allocated at {program}+0xADDR by thread {thread}; the first is byte 24
#include "../guarded.h"

int main(void) {
  enum { count = 100 };
  static char* p[count];
  char *left = NULL, *right = NULL;
  for (int i = 0; i < count; ++i) {
    p[i] = malloc(24);
    for (int j = 0; j < i; ++j) {
      if (p[i] - p[j] > 0 && p[i] - p[j] < 150) left = p[j], right = p[i];
      if (p[j] - p[i] > 0 && p[j] - p[i] < 150) left = p[i], right = p[j];
    }
  }
  CHECK(left != NULL);
  note_guarded(left);
  note_pointer("next", right);
  memset(hidden(left), 'x', (size_t)(right - left));
  free(right);
  return 0;
}
