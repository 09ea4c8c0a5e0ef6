// Strings that the C library allocates are freed by the program.
//@ broken-by malloc_short malloc_odd
#include <wchar.h>
#include "../check.h"

int main(void) {
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
  return 0;
}
