// Where the limit is reached, the blocks in quarantine are used again before an allocation fails.
//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_GUARD=0
//@ env TARN_LIMIT=2M
//@ broken-by TARN_LIMIT=0
#include "../check.h"

enum { most_blocks = 1000, freed = 30 };

int main(void) {
  static void* blocks[most_blocks];
  int count = 0;
  while (count < most_blocks && (blocks[count] = malloc(8000)) != NULL) ++count;
  CHECK(count > freed && count < most_blocks);
  for (int i = 0; i < freed; ++i) free(blocks[i]);
  for (int i = 0; i < freed; ++i) {
    blocks[i] = malloc(8000);
    CHECK(blocks[i] != NULL);
  }
  return 0;
}
