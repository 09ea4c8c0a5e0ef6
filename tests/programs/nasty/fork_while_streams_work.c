// fork while threads flush all streams, read lines from streams, and open and close streams. The C library holds the
// lock of a stream while getline allocates, and that of the list of streams while it waits for a stream.
//@ broken-by fork_deadlock
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

static int stop;
static int is_stopped(void) { return __atomic_load_n(&stop, __ATOMIC_RELAXED); }

static void* flush_all(void* argument) {
  for (int i = 0; !is_stopped(); ++i) {
    fflush(NULL);
    if (i % 100 == 0) usleep(100);  // leaves the others some processor time
  }
  return argument;
}

// Each line is longer than the one before, so that getline allocates again and again under the lock of the stream.
static void* read_lines(void* argument) {
  static const char text[] =
      "a\nbb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb bb\n";
  FILE* stream = tmpfile();
  CHECK(stream != NULL);
  CHECK(fputs(text, stream) >= 0);
  while (!is_stopped()) {
    rewind(stream);
    char* line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stream) > 0) {
      free(line);
      line = NULL;
      room = 0;
    }
    free(line);
  }
  fclose(stream);
  return argument;
}

static void* open_and_close(void* argument) {
  while (!is_stopped()) {
    FILE* stream = fopen("/dev/null", "w");
    CHECK(stream != NULL);
    fputs("text", stream);
    fclose(stream);
  }
  return argument;
}

int main(void) {
  void* (*const work[])(void*) = {flush_all, read_lines, read_lines, open_and_close};
  enum { count = sizeof work / sizeof *work };
  pthread_t threads[count];
  for (int i = 0; i < count; ++i) CHECK(pthread_create(&threads[i], NULL, work[i], NULL) == 0);
  alarm(5 * hang_seconds());
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      FILE* stream = fopen("/dev/null", "w");
      CHECK(stream != NULL && fputs("text", stream) >= 0);
      CHECK(fflush(NULL) == 0 && fclose(stream) == 0);
      free(malloc(100));
      _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
