// Runs a command as a container does: with a folder as its read-only root, and under a filter that refuses what the
// default profile of Docker refuses. `unshare --user --map-root-user --pid --mount --net --fork` gives it the
// namespaces; the command is process 1 there.
//   as-user    as user 1000, without capabilities
//   beside     as a container of a pod that shares the processes: with CAP_SYS_PTRACE alone
//   unfiltered the same without the filter, as is the default of Kubernetes
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call_filter.h"

// What the profile leaves out, or allows only with a capability that a container has not by default.
static const int refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_get_mempolicy,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_setup,
    SYS_io_uring_register,
    SYS_ioperm,
    SYS_iopl,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mbind,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_move_pages,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_process_madvise,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_set_mempolicy,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
};
enum { refused_count = sizeof refused / sizeof *refused };

static void fail(const char* step) {
  fprintf(stderr, "container: %s: %s\n", step, strerror(errno));
  _exit(77);
}

static void write_file(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) fail(path);
  close(file);
}

static void bind_into(const char* root, const char* folder, const char* source) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", root, folder);
  if (mount(source, path, NULL, MS_BIND | MS_REC, NULL) != 0) fail(path);
}

// The root becomes the folder, which only the mounts in it can write to.
static void enter(const char* root, const char* volume) {
  char proc[4096];
  snprintf(proc, sizeof proc, "%s/proc", root);
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) fail("private mounts");
  if (mount(root, root, NULL, MS_BIND | MS_REC, NULL) != 0) fail(root);
  if (mount("proc", proc, "proc", 0, NULL) != 0) fail(proc);
  bind_into(root, "dev/null", "/dev/null");
  if (*volume) bind_into(root, "data", volume);
  if (mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0) fail("a read-only root");
  if (chdir(root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) {
    fail("pivot_root");
  }
}

// Becomes a user without rights, in a user namespace of its own.
static void become_user(void) {
  if (unshare(CLONE_NEWUSER) != 0) fail("a user namespace");
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "1000 0 1");
  write_file("/proc/self/gid_map", "1000 0 1");
}

// Leaves the command no capability but the one for tracing.
static void keep_tracing_alone(void) {
  for (unsigned long capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    if (capability != CAP_SYS_PTRACE && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL) {
      fail("dropping a capability");
    }
  }
}

static void set_filter(void) {
  struct sock_filter rules[2 * refused_count + 16];
  unsigned short length = 0;
#define RULE(...) rules[length++] = (struct sock_filter)__VA_ARGS__
  RULE(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  for (int call = 0; call < refused_count; ++call) {
    RULE(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refused[call], 0, 1));
    RULE(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  RULE(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));  // whose flags a filter cannot read
  RULE(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  RULE(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  RULE(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)));
  RULE(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7e020000, 0, 1));  // new namespaces
  RULE(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  RULE(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  struct call_filter filter = {.program = {.len = length, .filter = rules}};
  if (set_call_filter(&filter) != 0) fail("a filter of system calls");
}

int main(int count, char** arguments) {
  if (count < 5) {
    fprintf(stderr, "Usage: container as-user|beside|unfiltered ROOT VOLUME COMMAND [ARGUMENT...]\n");
    return 2;
  }
  enter(arguments[2], arguments[3]);
  if (strcmp(arguments[1], "as-user") == 0) {
    become_user();
  } else {
    keep_tracing_alone();
  }
  if (strcmp(arguments[1], "unfiltered") != 0) set_filter();
  execv(arguments[4], arguments + 4);
  perror(arguments[4]);
  return 127;
}
