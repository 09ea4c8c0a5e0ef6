// An empty environment, and one that is cleared and rebuilt while the program allocates.
//@ env nothing
//@ broken-by needs_environment
#include "../check.h"

extern char** environ;

int main(void) {
  CHECK(getenv("PATH") == NULL);
  for (int round = 0; round < 100; ++round) {
    CHECK(clearenv() == 0 && environ == NULL);
    char* p = malloc(1000);
    CHECK(p != NULL);
    char name[20], value[300];
    for (int i = 0; i < 50; ++i) {
      snprintf(name, sizeof name, "NAME_%d", i);
      memset(value, 'v', sizeof value);
      value[i * 5] = 0;
      CHECK(setenv(name, value, 1) == 0 && strlen(getenv(name)) == (size_t)i * 5);
    }
    free(p);
  }
  return 0;
}
