// Functions of the C library that allocate, or take functions that do.
#include <dirent.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <wchar.h>
#if __has_include(<execinfo.h>)  // musl has no back traces
#include <execinfo.h>
#endif

#include "../cases.h"

static int compare(const void* a, const void* b) { return strcmp(a, b); }
static void ignore(void* key) { (void)key; }

// Look-ups: getaddrinfo lists, regular expressions, trees, hash tables, locales, iconv, back traces.
//@ broken-by malloc_short malloc_overlap
CASE(c_library_lookups) {
  for (int i = 0; i < 100; ++i) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *list = NULL;
    CHECK(getaddrinfo("127.0.0.1", "80", &hints, &list) == 0 && list->ai_addrlen >= 16);
    freeaddrinfo(list);
    regex_t expression;
    regmatch_t match[3];
    CHECK(regcomp(&expression, "(ta+rn)-([0-9]{1,20})", REG_EXTENDED) == 0);
    CHECK(regexec(&expression, "a taaarn-4711 b", 3, match, 0) == 0 && match[2].rm_eo == 13);
    regfree(&expression);
    void* root = NULL;
    char keys[100][16];
    for (int j = 0; j < 100; ++j) {
      snprintf(keys[j], sizeof keys[j], "%d", j * 7919 % 101);
      CHECK(tsearch(keys[j], &root, compare) != NULL);
    }
    for (int j = 0; j < 100; ++j) CHECK(*(char**)tfind(keys[j], &root, compare) == keys[j]);
    tdestroy(root, ignore);
    locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
    CHECK(locale != NULL);
    freelocale(locale);
    iconv_t converter = iconv_open("UTF-16LE", "UTF-8");
    CHECK(converter != (iconv_t)-1 && iconv_close(converter) == 0);
#if __has_include(<execinfo.h>)
    void* frames[8];
    char** names = backtrace_symbols(frames, backtrace(frames, 8));
    CHECK(names != NULL && names[0][0] != 0);
    free(names);
#endif
  }
}

// Paths and directories: realpath, getcwd, scandir, glob, opendir hand over or free blocks.
//@ broken-by malloc_short malloc_overlap
CASE(c_library_paths) {
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
}

struct row {
  unsigned key;
  char body[252];
};

static int compare_rows(const void* a, const void* b) {
  unsigned x = ((const struct row*)a)->key, y = ((const struct row*)b)->key;
  return x < y ? -1 : x > y;
}

// qsort of large elements and of a large array borrows memory from malloc.
//@ broken-by malloc_short
CASE(c_library_sort) {
  enum { count = 20000 };
  struct row* rows = malloc(count * sizeof *rows);
  unsigned state = 3;
  CHECK(rows != NULL);
  for (int i = 0; i < count; ++i) {
    rows[i].key = next_random(&state);
    memset(rows[i].body, (char)rows[i].key, sizeof rows[i].body);
  }
  qsort(rows, count, sizeof *rows, compare_rows);
  for (int i = 0; i < count; ++i) {
    CHECK(i == 0 || rows[i - 1].key <= rows[i].key);
    CHECK(rows[i].body[251] == (char)rows[i].key);
  }
  free(rows);
}

// Streams: getline, getdelim and open_memstream hand blocks over; setvbuf and fmemopen use some.
//@ broken-by realloc_drops malloc_short
CASE(c_library_streams) {
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
}

// Strings that the C library allocates are freed by the program.
//@ broken-by malloc_short malloc_odd
CASE(c_library_strings) {
  for (int i = 0; i < 1000; ++i) {
    char text[2000];
    memset(text, 'a' + i % 26, sizeof text);
    text[i] = 0;
    char* copy = strdup(text);
    CHECK(copy != NULL && strcmp(copy, text) == 0 && is_aligned(copy, 8));
    char* part = strndup(text, 17);
    CHECK(part != NULL && strlen(part) == (size_t)(i < 17 ? i : 17));
    char* printed = NULL;
    CHECK(asprintf(&printed, "%d:%s", i, text) >= i + 2 && strlen(printed) >= (size_t)i + 2);
    wchar_t* wide = wcsdup(L"breit");
    CHECK(wide != NULL && wcscmp(wide, L"breit") == 0);
    copy = realloc(copy, (size_t)i + 5000);
    CHECK(copy != NULL && strcmp(copy, text) == 0);
    free(copy);
    free(part);
    free(printed);
    free(wide);
  }
}
