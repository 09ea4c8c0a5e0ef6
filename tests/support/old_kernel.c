// Runs a command as Linux 4.18 would, and as a kernel without membarrier, rseq and huge pages: a filter answers the
// calls, flags and advices that came later as that kernel did.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call_filter.h"

enum { first_of_linux_5 = 424, last_advice_of_linux_4 = 19, set_dispatch = 59, set_name_of_mapping = 0x53564d41 };

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define UNLESS_EQUAL(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define IF_EQUAL(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, skipped, 0)
#define RETURN_ERROR(number) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int count, char** arguments) {
  struct sock_filter rules[] = {
      LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_of_linux_5, 2, 0),
      IF_EQUAL(SYS_membarrier, 1),
      UNLESS_EQUAL(SYS_rseq, 1),
      RETURN_ERROR(ENOSYS),
      UNLESS_EQUAL(SYS_mremap, 4),
      LOAD(args[3]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MREMAP_DONTUNMAP, 0, 1),
      RETURN_ERROR(EINVAL),
      ALLOW,
      UNLESS_EQUAL(SYS_madvise, 6),
      LOAD(args[2]),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last_advice_of_linux_4, 2, 0),
      IF_EQUAL(MADV_FREE, 1),
      UNLESS_EQUAL(MADV_HUGEPAGE, 1),
      RETURN_ERROR(EINVAL),
      ALLOW,
      UNLESS_EQUAL(SYS_prctl, 5),
      LOAD(args[0]),
      IF_EQUAL(PR_SET_THP_DISABLE, 2),
      IF_EQUAL(set_dispatch, 1),
      UNLESS_EQUAL(set_name_of_mapping, 1),
      RETURN_ERROR(EINVAL),
      ALLOW,
  };
  struct call_filter filter = {.program = {.len = sizeof rules / sizeof *rules, .filter = rules}};
  if (count < 2) {
    fprintf(stderr, "Usage: old_kernel COMMAND [ARGUMENT...]\n");
    return 2;
  }
  if (set_call_filter(&filter) != 0) {
    perror("old_kernel: no filter of system calls");
    return 77;
  }
  execvp(arguments[1], arguments + 1);
  perror(arguments[1]);
  return 127;
}
