// A program of several cases: `PROGRAM CASE [ARGUMENT...]` runs one of them. README.md describes the comments above a
// case.
#ifndef TARN_TESTS_PROGRAMS_CASES_H
#define TARN_TESTS_PROGRAMS_CASES_H

#include "check.h"

struct test_case {
  const char* name;
  void (*run)(int argument_count, char** arguments);
};

// The linker gathers the cases and defines the bounds of their section, so that no list has to be kept. The entries are
// retained, because LLD drops a section of which only the bounds are used.
extern const struct test_case __start_cases[], __stop_cases[];

// Begins the function of a case. `arguments` begins with the name of the case, as the words of main begin with that of
// the program.
#define CASE(name)                                                                \
  static void case_##name(int argument_count, char** arguments);                  \
  static const struct test_case entry_##name                                      \
      __attribute__((__used__, retain, section("cases"))) = {#name, case_##name}; \
  static void case_##name(int argument_count __attribute__((unused)), char** arguments __attribute__((unused)))

int main(int argument_count, char** arguments) {
  for (const struct test_case* entry = __start_cases; entry != __stop_cases; ++entry) {
    if (argument_count < 2 || strcmp(arguments[1], entry->name) != 0) continue;
    entry->run(argument_count - 1, arguments + 1);
    return 0;
  }
  static const char usage[] = "the first argument must be the name of a case\n";
  return write(2, usage, sizeof usage - 1) < 0 ? 3 : 2;
}

#endif
