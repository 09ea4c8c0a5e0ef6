#include "platform/threads.hpp"

#include <fcntl.h>
#include <link.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif
#include "base/errno_kept.hpp"

// Defined by the linker: the dynamic section of the program or library that contains this code.
[[gnu::weak, gnu::visibility("hidden")]] extern ElfW(Dyn) _DYNAMIC[];

namespace tarn::platform {
namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

bool thread_name(std::uint32_t number, char (&name)[thread_name_bytes]) noexcept {
  const base::errno_kept keep;
  base::text_buffer<64> path;
  path.append("/proc/self/task/").decimal(number).append("/comm").append('\0');
  const int file = open(path.view().data(), O_RDONLY | O_CLOEXEC);
  ssize_t name_bytes = 0;
  if (file >= 0) {
    name_bytes = read(file, name, thread_name_bytes);  // ends with a newline
    close(file);
  }
  name[name_bytes > 0 ? name_bytes - 1 : 0] = '\0';
  return name_bytes > 0;
}

void append_thread(base::text& message, std::uint32_t number) noexcept {
  char name[thread_name_bytes];
  message.append("thread ").decimal(number);
  if (thread_name(number, name)) message.append(" \"").append_escaped(name).append("\"");
}

bool is_only_thread() noexcept {
#if __has_include(<sys/single_threaded.h>)  // glibc 2.32
  return __libc_single_threaded != 0;
#elif !defined(__GLIBC__) && defined(__x86_64__)
  // musl links all threads in a ring, by the third and the fourth word of a thread's record. Anything else in these
  // words would not be the address of the record, which means that there may be more threads.
  auto* const record = reinterpret_cast<void**>(pthread_self());
  return __atomic_load_n(record + 2, __ATOMIC_RELAXED) == record &&
         __atomic_load_n(record + 3, __ATOMIC_RELAXED) == record;
#else
  return false;
#endif
}

bool is_unloadable() noexcept {
  if (_DYNAMIC == nullptr) {
    return false;  // a static program
  }
  for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_DEBUG ||
        (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & (DF_1_NODELETE | DF_1_PIE)) != 0)) {
      return false;  // only a program has an entry for debuggers
    }
  }
  return true;
}

bool prepare_barriers() noexcept {
  const base::errno_kept keep;
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

bool barrier_in_all_threads() noexcept {
  const base::errno_kept keep;
  bool has_passed = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  if (!has_passed && prepare_barriers()) {  // a child of fork may have to register again
    has_passed = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  }
  return has_passed;
}

}  // namespace tarn::platform
