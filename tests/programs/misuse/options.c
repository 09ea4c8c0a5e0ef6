// Options, malformed and well-formed.
//@ tarn-only
#include <pthread.h>
#include <sys/wait.h>

#include "../cases.h"

// A choice that is not offered.
//@ env TARN_STATS=yes
//@ stderr tarn[<int>] options: option TARN_STATS=yes: not one of off, text, json, openmetrics; off is used
CASE(option_choice) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// An option without a value.
//@ env TARN_PURGE_DELAY_MS=
//@ stderr tarn[<int>] options: option TARN_PURGE_DELAY_MS=: not a number of milliseconds from 0 to 3600000; 500 is
//@ more used
CASE(option_empty) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// A flag that is neither 0 nor 1.
//@ env TARN_BACKGROUND_PURGE=maybe
//@ stderr tarn[<int>] options: option TARN_BACKGROUND_PURGE=maybe: not one of 0, 1, off, on; 1 is used
CASE(option_flag) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

static void* work(void* argument) {
  free(malloc(100));
  return argument;
}

// A malformed option is named once, not once a thread and not again in a child.
//@ env TARN_BACKGROUND_PURGE=x
//@ stderr tarn[<int>] options: option TARN_BACKGROUND_PURGE=x: not one of 0, 1, off, on; 1 is used
CASE(option_in_thread) {
  for (int i = 0; i < 10; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(waitpid(child, NULL, 0) == child);
}

// A negative number.
//@ env TARN_PURGE_DELAY_MS=-1
//@ stderr tarn[<int>] options: option TARN_PURGE_DELAY_MS=-1: not a number of milliseconds from 0 to 3600000; 500 is
//@ more used
CASE(option_negative) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// A value with a backslash is shown escaped.
//@ env TARN_STATS=a"b\c
//@ stderr tarn[<int>] options: option TARN_STATS=a"b\\c: not one of off, text, json, openmetrics; off is used
CASE(option_odd_characters) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// A number that no integer holds.
//@ env TARN_LIMIT=99999999999999999999999
//@ stderr tarn[<int>] options: option TARN_LIMIT=99999999999999999999999: not a number of bytes from 0 to
//@ more 140737488355328 (K, M, G, KiB, MiB, GiB may follow); 0 is used
CASE(option_overflow) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// Every malformed option has its line; good ones beside them count.
//@ env TARN_THP=never
//@ env TARN_PURGE_DELAY_MS=0
//@ env TARN_INITIAL=x
//@ stderr tarn[<int>] options: option TARN_THP=never: not one of auto, on, off; auto is used
//@ stderr tarn[<int>] options: option TARN_INITIAL=x: not a number of bytes from 0 to 140737488355328 (K, M, G, KiB,
//@ more MiB, GiB may follow); 0 is used
CASE(option_several) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// A number one above the largest.
//@ env TARN_PURGE_DELAY_MS=3600001
//@ stderr tarn[<int>] options: option TARN_PURGE_DELAY_MS=3600001: not a number of milliseconds from 0 to 3600000;
//@ more 500 is used
CASE(option_too_large) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// A number with an unknown unit.
//@ env TARN_LIMIT=12Q
//@ stderr tarn[<int>] options: option TARN_LIMIT=12Q: not a number of bytes from 0 to 140737488355328 (K, M, G, KiB,
//@ more MiB, GiB may follow); 0 is used
CASE(option_unit) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// A name that is no option, and one letter off.
//@ env TARN_LIMITS=1G
//@ stderr tarn[<int>] options: unknown option TARN_LIMITS; did you mean TARN_LIMIT?
CASE(option_unknown) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// A word for a number: one line, the default, and the program runs.
//@ env TARN_PURGE_DELAY_MS=abc
//@ stderr tarn[<int>] options: option TARN_PURGE_DELAY_MS=abc: not a number of milliseconds from 0 to 3600000; 500 is
//@ more used
CASE(option_word) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// Well-formed options are silent.
//@ broken-by TARN_STATS=x
//@ env TARN_PURGE_DELAY_MS=0
//@ env TARN_STATS=off
//@ env TARN_THP=off
//@ env TARN_LIMIT=1GiB
//@ env TARN_INITIAL=2M
//@ env TARN_INCREMENT=4MiB
//@ env TARN_BACKGROUND_PURGE=0
CASE(options_all_good) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}
