// The sites of a report are the calls of malloc and free, to the byte.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
#include "../guarded.h"

#include <link.h>
#include <sys/wait.h>

// Puts code into sections of its own, whose bounds are known.
#define PLACE(name) __attribute__((noinline, section(#name)))
extern char __start_make_here[], __stop_make_here[], __start_free_here[], __stop_free_here[];

PLACE(make_here) static void* make(int way) {
  switch (way) {
    case 0: return malloc(40);
    case 1: return calloc(4, 10);
    case 2: return realloc(NULL, 40);
    case 3: return reallocarray(NULL, 4, 10);
    case 4: return aligned_alloc(64, 40);
    case 5: return memalign(4096, 40);
    default: {
      void* p = NULL;
      CHECK(posix_memalign(&p, 32, 40) == 0);
      return p;
    }
  }
}
PLACE(free_here) static void release(void* p, int way) {
  if (way % 2 == 0) {
    free(p);
  } else {
    CHECK(realloc(p, 0) == NULL);
  }
}
static void release_again(void* p) { free(hidden(p)); }

static int base_of(struct dl_phdr_info* info, size_t size, void* base) {
  *(uintptr_t*)base = info->dlpi_addr;
  return size != 0;  // the first is the program
}

// Returns the site behind `words` as an address.
static uintptr_t site(const char* text, const char* words) {
  char path[4096] = "";
  uintptr_t base = 0;
  CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  dl_iterate_phdr(base_of, &base);
  const char* position = strstr(text, words);
  CHECK(position != NULL && strncmp(position + strlen(words), path, strlen(path)) == 0);
  position += strlen(words) + strlen(path);
  CHECK(strncmp(position, "+0x", 3) == 0);
  return base + strtoul(position + 3, NULL, 16);
}

int main(void) {
  for (int way = 0; way < 7; ++way) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    if (fork() == 0) {
      CHECK(dup2(ends[1], 2) == 2);
      void* p = make(way);
      release(p, way);
      release_again(p);
      _exit(0);
    }
    close(ends[1]);
    char text[4096] = "";
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
    close(ends[0]);
    CHECK(wait(NULL) > 0);
    uintptr_t allocation_site = site(text, "allocated at "), free_site = site(text, "freed before at ");
    CHECK(allocation_site >= (uintptr_t)__start_make_here && allocation_site < (uintptr_t)__stop_make_here);
    CHECK(free_site >= (uintptr_t)__start_free_here && free_site < (uintptr_t)__stop_free_here);
  }
  return 0;
}
