// This header declares what musl does not. Functions that the drop-in adds are null without it; others are null with
// musl, where the cases that call them are left out (cmake/musl/left_out.cmake).
#ifndef TARN_TESTS_PROGRAMS_MUSL_H
#define TARN_TESTS_PROGRAMS_MUSL_H

#include <dlfcn.h>
#include <stddef.h>
#include <ucontext.h>

#ifdef __cplusplus
extern "C" {
#endif
int malloc_trim(size_t) __attribute__((weak));
void malloc_stats(void) __attribute__((weak));
void* pvalloc(size_t) __attribute__((weak));
void* dlmopen(long, const char*, int) __attribute__((weak));
int getcontext(ucontext_t*) __attribute__((weak));
void makecontext(ucontext_t*, void (*)(void), int, ...) __attribute__((weak));
int swapcontext(ucontext_t*, const ucontext_t*) __attribute__((weak));
#ifdef __cplusplus
}
#endif

#define LM_ID_NEWLM -1
#define RTLD_DEEPBIND 0                        // without it, a library finds the program's malloc before its own
static const char __libc_single_threaded = 1;  // of threads alone, which the cases count, too

#endif
