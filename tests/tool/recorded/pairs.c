// Does nothing but allocate and free small blocks: as many millions of pairs as the argument says. Prints the processor
// time that it took, in microseconds.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  for (long pairs = atol(arguments[1]) * 1000000; pairs > 0; --pairs) {
    void* volatile block = malloc(24);
    free(block);
  }
  printf("%ld\n", (long)clock());
  return 0;
}
