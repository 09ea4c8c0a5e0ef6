#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

int statx(int folder, const char* path, int flags, unsigned mask, void* result) {
  return (int)syscall(SYS_statx, folder, path, flags, mask, result);
}
