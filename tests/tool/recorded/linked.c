// Is linked in several forms, which differ in how the program reaches malloc, free and the functions of a mutex. With
// TABLE it takes their addresses. It uses no variable of a library: at a fixed address it would export a copy of that,
// and most forms export nothing.
//
// It obeys the lines of its input. "blocks N" allocates N blocks and frees them, "locks N" has two threads take one
// mutex, each N times, and "redirect" puts another function into its table of addresses in the place of malloc. It
// ends with its input.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum = 0;  // guarded by mutex

#ifdef TABLE
struct functions {
  void* (*allocate)(size_t);
  void (*release)(void*);
  int (*lock)(pthread_mutex_t*);
  int (*unlock)(pthread_mutex_t*);
};
// Weak, so that the compiler does not call the functions directly. Each line reads it anew.
extern const struct functions table;
__attribute__((weak)) const struct functions table = {malloc, free, pthread_mutex_lock, pthread_mutex_unlock};
#define allocate table.allocate
#define release table.release
#define lock table.lock
#define unlock table.unlock
#else
#define allocate malloc
#define release free
#define lock pthread_mutex_lock
#define unlock pthread_mutex_unlock
#endif

static void* take(void* count) {
  for (long left = (long)(intptr_t)count; left > 0; --left) {
    lock(&mutex);
    for (int step = 0; step < 100; ++step) ++sum;
    unlock(&mutex);
  }
  return NULL;
}

static void take_in_two_threads(long count) {
  pthread_t second_thread;
  if (pthread_create(&second_thread, NULL, take, (void*)(intptr_t)count) != 0) abort();
  take((void*)(intptr_t)count);
  pthread_join(second_thread, NULL);
}

static uintptr_t dynamic_value(ElfW(Sxword) tag) {
  for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == tag) return entry->d_un.d_ptr;
  }
  return 0;
}

static void redirect_in(ElfW(Sxword) table, ElfW(Sxword) size) {
  const ElfW(Rela)* const records = (const ElfW(Rela)*)dynamic_value(table);
  const ElfW(Sym)* const symbols = (const ElfW(Sym)*)dynamic_value(DT_SYMTAB);
  const char* const names = (const char*)dynamic_value(DT_STRTAB);
  for (size_t index = 0; index < dynamic_value(size) / sizeof *records; ++index) {
    if (strcmp(names + symbols[ELF64_R_SYM(records[index].r_info)].st_name, "malloc") != 0) continue;
    void* (** const entry)(size_t) = (void* (**)(size_t))records[index].r_offset;  // the load bias is 0
    mprotect((void*)((uintptr_t)entry & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE);
    *entry = (void* (*)(size_t))dlsym(RTLD_DEFAULT, "valloc");
  }
}

__attribute__((noinline)) static void obey(const char* line) {
  long count = 0;
  if (sscanf(line, "blocks %ld", &count) == 1) {
    for (; count > 0; --count) {
      void* volatile const block = allocate(100);
      release(block);
    }
  } else if (sscanf(line, "locks %ld", &count) == 1) {
    take_in_two_threads(count);
  } else if (strcmp(line, "redirect\n") == 0) {
    redirect_in(DT_JMPREL, DT_PLTRELSZ);
    redirect_in(DT_RELA, DT_RELASZ);
  }
}

int main(void) {
  release(allocate(8));
  take_in_two_threads(1);
  char line[100] = "";
  dprintf(STDOUT_FILENO, "ready\n");
  for (ssize_t bytes = 0; (bytes = read(STDIN_FILENO, line, sizeof line - 1)) > 0;) {  // each line comes alone
    line[bytes] = '\0';
    obey(line);
    dprintf(STDOUT_FILENO, "done\n");
  }
  return 0;
}
