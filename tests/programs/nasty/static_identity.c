// A static program on libtarn-malloc.a ends the helper before its identity changes, too.
//@ no-preload
//@ tarn-only
//@ env TARN_PURGE_DELAY_MS=3600000
//@ broken-by text
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../check.h"

static void free_much(void) {
  enum { count = 16 };
  void* blocks[count];
  for (int i = 0; i < count; ++i) CHECK((blocks[i] = calloc(1, (size_t)1 << 20)) != NULL);
  for (int i = 0; i < count; ++i) free(blocks[i]);
}

static int change_identity(int kind) {
  switch (kind) {
    case 0: return setuid(getuid());
    case 1: return setgid(getgid());
    case 2: return seteuid(geteuid());
    case 3: return setegid(getegid());
    case 4: return setreuid(getuid(), geteuid());
    case 5: return setregid(getgid(), getegid());
    case 6: return setresuid(getuid(), geteuid(), (uid_t)-1);
    case 7: return setresgid(getgid(), getegid(), (gid_t)-1);
    case 8: return unshare(CLONE_THREAD);
    case 9: return setns(-1, 0) == -1 && errno == EBADF ? 0 : -1;
    default: return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // the last, because no helper starts afterwards
  }
}

static void check_users(uid_t real, uid_t effective, uid_t saved) {
  uid_t now[3];
  CHECK(getresuid(&now[0], &now[1], &now[2]) == 0);
  CHECK(now[0] == real && now[1] == effective && now[2] == saved);
}

static void check_groups(gid_t real, gid_t effective, gid_t saved) {
  gid_t now[3];
  CHECK(getresgid(&now[0], &now[1], &now[2]) == 0);
  CHECK(now[0] == real && now[1] == effective && now[2] == saved);
}

// Each call changes what its name says, where the system lets a child change it.
static void check_effects(void) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() != 0 || setgid(7) != 0) _exit(0);
    check_groups(7, 7, 7);
    CHECK(setresgid(1, 2, 3) == 0);
    check_groups(1, 2, 3);
    CHECK(setegid(4) == 0);
    check_groups(1, 4, 3);
    CHECK(setregid(5, 6) == 0);
    check_groups(5, 6, 6);
    CHECK(setreuid(5, 0) == 0);
    check_users(5, 0, 0);
    CHECK(setresuid(1, 0, 3) == 0);
    check_users(1, 0, 3);
    CHECK(seteuid(3) == 0);
    check_users(1, 3, 3);
    CHECK(setuid(1) == 0);
    check_users(1, 1, 3);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  check_effects();
  for (int kind = 0; kind <= 10; ++kind) {
    free_much();
#ifdef __x86_64__
    CHECK(thread_count() > 1 || guarded());  // a quarantine keeps freed blocks
#endif
    CHECK(change_identity(kind) == 0);
    CHECK(thread_count() == 1);
  }
  free_much();
  CHECK(thread_count() == 1);
  gid_t groups[1000];
  CHECK(setgroups((size_t)getgroups(1000, groups), groups) == 0 || errno == EPERM);
  CHECK(seteuid((uid_t)-1) == -1 && errno == EINVAL);
  return 0;
}
