/* Allocates; with an argument in a child as well. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char** arguments) {
  (void)arguments;
  const pid_t child = count > 1 ? fork() : -1;
  for (int round = 0; round < 100; ++round) free(malloc(8));
  if (child > 0) waitpid(child, NULL, 0);
  return 0;
}
