/* Stands for libtarn-malloc.so where a test only asks whether the command preloads it. */
#include <stdlib.h>

__attribute__((constructor)) static void mark(void) { setenv("STUB_WAS_LOADED", "1", 1); }
