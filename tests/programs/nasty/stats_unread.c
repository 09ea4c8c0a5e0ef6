// A report of statistics that nobody reads yet holds up its writer, and no other thread.
//@ broken-by nothing
#include <fcntl.h>
#include <pthread.h>
#include "../check.h"

static void* report(void* argument) {
  malloc_stats();
  return argument;
}

static void* use(void* argument) {
  free(malloc(100));
  return argument;
}

int main(void) {
  int ends[2], kept = dup(2);
  CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
  char page[4096] = "";
  CHECK(write(ends[1], page, sizeof page) == sizeof page);  // full
  CHECK(dup2(ends[1], 2) == 2);
  pthread_t reporting, user;
  CHECK(pthread_create(&reporting, NULL, report, NULL) == 0);
  usleep(100000);  // lets the report come to its write; what is checked holds whether it has or not
  alarm(hang_seconds());
  for (int i = 0; i < 3; ++i) {  // each needs a heap
    CHECK(pthread_create(&user, NULL, use, NULL) == 0 && pthread_join(user, NULL) == 0);
  }
  CHECK(read(ends[0], page, sizeof page) == sizeof page);
  CHECK(read(ends[0], page, 5) == 5 && memcmp(page, "tarn:", 5) == 0);
  CHECK(dup2(kept, 2) == 2);
  return 0;
}
