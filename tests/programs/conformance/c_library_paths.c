// Paths and directories: realpath, getcwd, scandir, glob, opendir hand over or free blocks.
//@ broken-by malloc_short malloc_overlap
#include <dirent.h>
#include <glob.h>
#include "../check.h"

int main(void) {
  for (int i = 0; i < 50; ++i) {
    char* here = getcwd(NULL, 0);
    char* real = realpath("/proc/self/../self/./cwd", NULL);
    CHECK(here != NULL && real != NULL && strcmp(here, real) == 0);
    struct dirent** entries = NULL;
    int count = scandir("/usr", &entries, NULL, alphasort);
    CHECK(count > 4);
    for (int j = 0; j < count; ++j) {
      CHECK(j == 0 || strcoll(entries[j - 1]->d_name, entries[j]->d_name) <= 0);
    }
    for (int j = 0; j < count; ++j) free(entries[j]);
    glob_t found = {0};
    CHECK(glob("/usr/*", GLOB_MARK, NULL, &found) == 0);
    CHECK(found.gl_pathc > 4 && strncmp(found.gl_pathv[1], "/usr/", 5) == 0);
    globfree(&found);
    free(entries);
    free(here);
    free(real);
  }
  return 0;
}
