/* A C program without Tarn: prints the names of the C++ runtime's libraries that are mapped into it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char line[4096];
  FILE* const maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 1;
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "libstdc++") != NULL || strstr(line, "libgcc_s") != NULL) fputs(line, stdout);
  }
  fclose(maps);
  free(malloc(100));
  puts("ok");
  return 0;
}
