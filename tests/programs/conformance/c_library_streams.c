// Streams: getline, getdelim and open_memstream hand blocks over; setvbuf and fmemopen use some.
//@ broken-by realloc_drops malloc_short
#include "../check.h"

int main(void) {
  char* memory = NULL;
  size_t size = 0, capacity = 0;
  FILE* out = open_memstream(&memory, &size);
  CHECK(out != NULL);
  for (int i = 0; i < 20000; ++i) fprintf(out, "line %d %0*d\n", i, i % 300, i);
  fclose(out);
  CHECK(memory != NULL && strlen(memory) == size);
  FILE* stream = fmemopen(memory, size, "r");
  CHECK(stream != NULL && setvbuf(stream, NULL, _IOFBF, 1 << 16) == 0);
  char* line = NULL;
  for (int i = 0; i < 20000; ++i) {
    int number = -1;
    CHECK((i % 2 ? getline(&line, &capacity, stream) : getdelim(&line, &capacity, '\n', stream)) > 0);
    CHECK(sscanf(line, "line %d", &number) == 1 && number == i);
  }
  CHECK(getline(&line, &capacity, stream) == -1);
  fclose(stream);
  free(line);
  free(memory);
  return 0;
}
