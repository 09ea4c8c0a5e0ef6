// Frees and writes of the child do not reach the parent, and vice versa.
//@ broken-by shared_memory
#include <sys/wait.h>
#include "../check.h"

int main(void) {
  enum { count = 500 };
  static char* p[count];
  for (int i = 0; i < count; ++i) {
    p[i] = malloc((size_t)i * 50 + 1);
    fill(p[i], (size_t)i * 50 + 1, (unsigned)i);
  }
  pid_t child = fork();
  for (int i = 0; i < count; ++i) {
    CHECK(is_filled(p[i], (size_t)i * 50 + 1, (unsigned)i));
    if (child == 0 || i % 2) {
      memset(p[i], 0xee, (size_t)i * 50 + 1);
      free(p[i]);
      memset(malloc((size_t)i * 50 + 1), 0xdd, (size_t)i * 50 + 1);
    }
  }
  if (child == 0) _exit(0);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int i = 0; i < count; i += 2) CHECK(is_filled(p[i], (size_t)i * 50 + 1, (unsigned)i));
  return 0;
}
