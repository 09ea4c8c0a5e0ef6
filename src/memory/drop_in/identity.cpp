// Wraps calls that change the identity or the rights of the process, because of the helper that gives idle memory back.
//
// Only the kernel knows that helper as a thread; the C library does not (platform/helper.hpp). So after setuid() it
// would still run as the old user, and unshare(CLONE_NEWUSER) fails while there are two threads. Each of these calls
// ends the helper first, and the next helper starts with the new identity.
//
// When the process restricts its own system calls, or announces that with PR_SET_NO_NEW_PRIVS, no helper starts again:
// a filter may kill the process for clone() or membarrier(), and also for the call that would ask whether there is a
// filter. A filter from before the start, as in a container, does not matter, because it allows threads.
#include <linux/prctl.h>

#include <cstdarg>

#include "memory/drop_in/fast.hpp"
#include "memory/drop_in/next_calls.hpp"
#include "memory/thread/idle_purge.hpp"

using namespace tarn;

extern "C" {

#define TARN_TAKE(name, parameters, arguments)         \
  TARN_EXPORT int name parameters TARN_LIBC_NOEXCEPT { \
    const threads::helper_pause pause;                 \
    return drop_in::next::name arguments;              \
  }
TARN_IDENTITY_CALLS(TARN_TAKE)

TARN_EXPORT int prctl(int option, ...) TARN_LIBC_NOEXCEPT {
  va_list list;
  va_start(list, option);
  long arguments[4];
  for (long& word : arguments) {
    word = va_arg(list, long);  // the ABI has registers for all of them, whatever was passed
  }
  va_end(list);
  const auto call = [&] {
    return drop_in::next::prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
  };
  switch (option) {
    default: return call();
    case PR_CAPBSET_DROP:
    case PR_CAP_AMBIENT:
    case PR_SET_SECUREBITS: {
      const threads::helper_pause pause;
      return call();
    }
    case PR_SET_NO_NEW_PRIVS:
    case PR_SET_SECCOMP: {
      const threads::helper_pause pause;
      const int result = call();
      if (result == 0) pause.make_final();
      return result;
    }
  }
}

}  // extern "C"
