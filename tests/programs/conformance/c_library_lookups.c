// Look-ups: getaddrinfo lists, regular expressions, trees, hash tables, locales, iconv, back traces.
//@ broken-by malloc_short malloc_overlap
#include <execinfo.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include "../check.h"

static int compare(const void* a, const void* b) { return strcmp(a, b); }
static void ignore(void* key) { (void)key; }

int main(void) {
  for (int i = 0; i < 100; ++i) {
    struct addrinfo wanted = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *list = NULL;
    CHECK(getaddrinfo("127.0.0.1", "80", &wanted, &list) == 0 && list->ai_addrlen >= 16);
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
    void* frames[8];
    char** names = backtrace_symbols(frames, backtrace(frames, 8));
    CHECK(names != NULL && names[0][0] != 0);
    free(names);
  }
  return 0;
}
