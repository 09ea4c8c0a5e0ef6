// Paths and directories: realpath, getcwd, scandir, glob, opendir hand over or free blocks.
//@ broken-by malloc_short malloc_overlap
#include <dirent.h>
#include <glob.h>
#include "../check.h"

int main(void) {
  for (int i = 0; i < 50; ++i) {
    char* folder = getcwd(NULL, 0);
    char* real = realpath("/proc/self/../self/./cwd", NULL);
    CHECK(folder != NULL && real != NULL && strcmp(folder, real) == 0);
    struct dirent** entries = NULL;
    int count = scandir("/usr", &entries, NULL, alphasort);
    CHECK(count > 4);
    for (int j = 0; j < count; ++j) {
      CHECK(j == 0 || strcoll(entries[j - 1]->d_name, entries[j]->d_name) <= 0);
    }
    for (int j = 0; j < count; ++j) free(entries[j]);
    glob_t matches = {0};
    CHECK(glob("/usr/*", GLOB_MARK, NULL, &matches) == 0);
    CHECK(matches.gl_pathc > 4 && strncmp(matches.gl_pathv[1], "/usr/", 5) == 0);
    globfree(&matches);
    free(entries);
    free(folder);
    free(real);
  }
  return 0;
}
