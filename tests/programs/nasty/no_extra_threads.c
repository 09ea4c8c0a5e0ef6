// The allocator starts no thread of its own where little memory waits to be given back.
//@ broken-by starts_thread
#include <dirent.h>
#include "../check.h"

static int threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  for (struct dirent* e; (e = readdir(tasks)) != NULL;) count += e->d_name[0] != '.';
  closedir(tasks);
  return count;
}

int main(void) {
  if (guarded()) return 0;  // a quarantine keeps much, and gives it back in bulk
  CHECK(threads() == 1);
  for (int i = 0; i < 20000; ++i) free(memset(malloc((size_t)i * 100 + 1), 1, (size_t)i * 100 + 1));
  usleep(700000);  // longer than the purge delay
  for (int i = 0; i < 20000; ++i) free(malloc((size_t)i + 1));
  CHECK(threads() == 1);
  return 0;
}
