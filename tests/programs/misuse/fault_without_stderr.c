// With standard error closed a fault still ends the program with SIGABRT.
//@ tarn-only
//@ broken-by free_leaks
//@ signal ABRT
//@ closed 2
#include "../check.h"

int main(void) {
  void* p = malloc(64);
  free(p);
  free(hidden(p));
  return 0;
}
