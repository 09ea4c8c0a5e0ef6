// A static program on libtarn-malloc.a ends the helper before its identity changes, too.
//@ no-preload
//@ tarn-only
//@ env TARN_PURGE_DELAY_MS=3600000
//@ broken-by text
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>

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

int main(void) {
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
