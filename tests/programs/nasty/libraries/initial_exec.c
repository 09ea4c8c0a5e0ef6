// Takes 1 KiB of the static thread-local block; compiled with -ftls-model=initial-exec.
#include <stdlib.h>

static _Thread_local char room[1020];
static _Thread_local int calls;

int count_calls(void) {
  void* p = malloc(100);
  room[calls] = 1;
  free(p);
  return ++calls;
}
