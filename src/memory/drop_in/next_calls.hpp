// The C library's functions whose names the drop-in takes (memory/drop_in/identity.cpp).
//
// next_calls.cpp finds them in a dynamic program, static_next_calls.cpp in a static one.
#pragma once

#include <grp.h>
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

/// Name, parameters and arguments of each call that changes the identity or the rights of a thread.
#define TARN_IDENTITY_CALLS(CALL)                                                       \
  CALL(setuid, (uid_t user), (user))                                                    \
  CALL(setgid, (gid_t group), (group))                                                  \
  CALL(seteuid, (uid_t user), (user))                                                   \
  CALL(setegid, (gid_t group), (group))                                                 \
  CALL(setreuid, (uid_t real, uid_t effective), (real, effective))                      \
  CALL(setregid, (gid_t real, gid_t effective), (real, effective))                      \
  CALL(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved)) \
  CALL(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved)) \
  CALL(unshare, (int flags), (flags))                                                   \
  CALL(setns, (int space, int kind), (space, kind))                                     \
  CALL(capset, (void* header, const void* capabilities), (header, capabilities))

/// These are wrapped in dynamic programs only: a static program that calls them mostly changes its user or group
/// afterwards.
#define TARN_GROUP_CALLS(CALL)                                          \
  CALL(setgroups, (size_t count, const gid_t* groups), (count, groups)) \
  CALL(initgroups, (const char* user, gid_t group), (user, group))

namespace tarn::drop_in::next {

#define TARN_DECLARE(name, parameters, arguments) int name parameters;
TARN_IDENTITY_CALLS(TARN_DECLARE)
#undef TARN_DECLARE
int prctl(int option, long second, long third, long fourth, long fifth);

}  // namespace tarn::drop_in::next
