// Names the C library's functions in a static program, which has no dlsym().
//
// glibc defines some functions under two names, and the drop-in takes only the one that programs call. musl has one
// function beneath these, which makes the system call in each thread. The others are system calls of the calling thread
// alone. setgroups() has neither, so the drop-in leaves it to the C library.
#include "memory/drop_in/next_calls.hpp"

#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "memory/drop_in/program_operators.hpp"

#ifdef __GLIBC__
extern "C" {
int __setuid(uid_t user) noexcept;
int __setgid(gid_t group) noexcept;
int __setreuid(uid_t real, uid_t effective) noexcept;
int __setregid(gid_t real, gid_t effective) noexcept;
int __setresuid(uid_t real, uid_t effective, uid_t saved) noexcept;
int __setresgid(gid_t real, gid_t effective, gid_t saved) noexcept;
}
#else
extern "C" int __setxid(int call, int first, int second, int third);
#define TARN_IN_EACH_THREAD(call, first, second, third) \
  __setxid(SYS_##call, static_cast<int>(first), static_cast<int>(second), static_cast<int>(third))
static int __setuid(uid_t user) { return TARN_IN_EACH_THREAD(setuid, user, 0, 0); }
static int __setgid(gid_t group) { return TARN_IN_EACH_THREAD(setgid, group, 0, 0); }
static int __setreuid(uid_t real, uid_t effective) { return TARN_IN_EACH_THREAD(setreuid, real, effective, 0); }
static int __setregid(gid_t real, gid_t effective) { return TARN_IN_EACH_THREAD(setregid, real, effective, 0); }
static int __setresuid(uid_t real, uid_t effective, uid_t saved) {
  return TARN_IN_EACH_THREAD(setresuid, real, effective, saved);
}
static int __setresgid(gid_t real, gid_t effective, gid_t saved) {
  return TARN_IN_EACH_THREAD(setresgid, real, effective, saved);
}
#undef TARN_IN_EACH_THREAD
#endif

namespace tarn::drop_in::next {
namespace {

constexpr unsigned unchanged = ~0U;

int is_invalid() noexcept {
  errno = EINVAL;
  return -1;
}

}  // namespace

int setuid(uid_t user) { return __setuid(user); }
int setgid(gid_t group) { return __setgid(group); }
int setreuid(uid_t real, uid_t effective) { return __setreuid(real, effective); }
int setregid(gid_t real, gid_t effective) { return __setregid(real, effective); }
int setresuid(uid_t real, uid_t effective, uid_t saved) { return __setresuid(real, effective, saved); }
int setresgid(gid_t real, gid_t effective, gid_t saved) { return __setresgid(real, effective, saved); }
int seteuid(uid_t user) { return user == unchanged ? is_invalid() : __setresuid(unchanged, user, unchanged); }
int setegid(gid_t group) { return group == unchanged ? is_invalid() : __setresgid(unchanged, group, unchanged); }
int unshare(int flags) { return static_cast<int>(syscall(SYS_unshare, flags)); }
int setns(int space, int kind) { return static_cast<int>(syscall(SYS_setns, space, kind)); }
int capset(void* header, const void* capabilities) {
  return static_cast<int>(syscall(SYS_capset, header, capabilities));
}
int prctl(int option, long second, long third, long fourth, long fifth) {
  return static_cast<int>(syscall(SYS_prctl, option, second, third, fourth, fifth));
}

}  // namespace tarn::drop_in::next

// Defined by static_new.cpp, which C programs do not have: the program's operators, and the drop-in's.
extern "C" const tarn::drop_in::operator_set tarn_malloc_operators[2] __attribute__((weak));

namespace tarn::drop_in {

operator_set find_program_operators(const operator_set&) noexcept {
  const operator_set* const sets = tarn_malloc_operators;
  return sets == nullptr || std::memcmp(&sets[0], &sets[1], sizeof *sets) == 0 ? operator_set() : sets[0];
}

}  // namespace tarn::drop_in
