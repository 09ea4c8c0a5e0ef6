/* The smallest program; linked in several ways by CMakeLists.txt. */
#include <stdio.h>

int main(void) {
  puts("hello");
  return 0;
}
