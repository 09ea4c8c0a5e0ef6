// Wraps the exec family. A recorded process that becomes another program stays recorded: the variables that this
// takes are added to the next program's environment where the program has left them out (`env -i`). The region is
// handed on as a descriptor, as the next program may not be able to open it (another user, another PID namespace).
// Children keep the environment that they are given. Also wraps unshare(), for the same reason.
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "profiler/preload/entry.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/region.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

TARN_NEXT_FUNCTION(execve)
TARN_NEXT_FUNCTION(execvpe)
TARN_NEXT_FUNCTION(fexecve)
TARN_NEXT_FUNCTION(unshare)

namespace tarn::preload {
namespace {

// Holds LD_PRELOAD as this process had it; it stays empty when the value does not fit.
constinit char own_preload[2048] = {};

[[gnu::used]] void note_preload(int, char**, char** environment) noexcept {
  constexpr char name[] = "LD_PRELOAD=";
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, sizeof name - 1) != 0 || std::strlen(*environment) >= sizeof own_preload)
      continue;
    std::strcpy(own_preload, *environment);
  }
}
using constructor = void (*)(int, char**, char**);
[[gnu::used, gnu::section(".init_array.00100")]] constinit const constructor preload_constructor = note_preload;

// Writes NAME=NUMBER.
void write_number(char* text, const char* name, std::uint32_t number) noexcept {
  const std::size_t bytes = std::strlen(name);
  std::memcpy(text, name, bytes);
  text[bytes] = '=';
  char digits[10];
  std::size_t count = 0;
  do digits[count++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  for (char* next = text + bytes + 1;; ++next) {
    *next = count == 0 ? '\0' : digits[--count];
    if (*next == '\0') return;
  }
}

bool is_named(const char* variable, const char* name) noexcept {
  const std::size_t bytes = std::strlen(name);
  return std::strncmp(variable, name, bytes) == 0 && variable[bytes] == '=';
}

// Prepares an exec of this process and holds the environment that the exec hands on.
class going_on {
 public:
  going_on(const char* path, char* const* environment) noexcept : environment_(environment) {
    // A child of vfork shares its parent's memory, but has another process number.
    is_own_ = detail::has_started.load(std::memory_order_acquire) && is_recorded() && !is_restricted() &&
              process_number() == raw_call(SYS_getpid);
    if (!is_own_) return;
    const int file = begin_exec(path);
    std::size_t count = 0;
    bool is_preloaded = false;
    for (char* const* variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
      if (is_named(*variable, format::descriptor_variable)) continue;
      if (is_named(*variable, format::region_variable) || is_named(*variable, format::process_variable)) continue;
      if (is_named(*variable, "LD_PRELOAD")) is_preloaded = true;
      if (count == limit) return;  // an environment of that size stays as it is
      pointers_[count++] = *variable;
    }
    std::strcpy(region_, format::region_variable);
    std::strcat(region_, "=");
    std::strcat(region_, region_path());
    pointers_[count++] = region_;
    write_number(process_, format::process_variable, process_number());
    pointers_[count++] = process_;
    if (file >= 0) {
      write_number(descriptor_, format::descriptor_variable, static_cast<std::uint32_t>(file));
      pointers_[count++] = descriptor_;
    }
    if (!is_preloaded && own_preload[0] != '\0') pointers_[count++] = own_preload;
    pointers_[count] = nullptr;
    environment_ = const_cast<char* const*>(pointers_);
  }
  going_on(const going_on&) = delete;
  going_on& operator=(const going_on&) = delete;
  // Runs only when the exec has failed.
  ~going_on() {
    const int before = errno;
    if (is_own_) exec_failed();
    errno = before;
  }
  char* const* environment() const noexcept { return environment_; }

 private:
  static constexpr std::size_t limit = 1024;
  bool is_own_ = false;
  char* const* environment_;
  const char* pointers_[limit + 5];
  char region_[128], process_[64], descriptor_[64];
};

}  // namespace
}  // namespace tarn::preload

using namespace tarn::preload;

extern "C" {

TARN_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  const going_on now(path, environment);
  return next_execve()(path, arguments, now.environment());
}
TARN_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
  const going_on now(file, environment);
  return next_execvpe()(file, arguments, now.environment());
}
TARN_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) noexcept {
  const going_on now(arguments[0] != nullptr ? arguments[0] : "", environment);
  return next_fexecve()(file, arguments, now.environment());
}
TARN_EXPORT int execv(const char* path, char* const* arguments) noexcept { return execve(path, arguments, ::environ); }
TARN_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return execvpe(file, arguments, ::environ);
}

TARN_EXPORT int unshare(int flags) noexcept {
  if ((flags & CLONE_NEWUSER) != 0 && records_anything()) open_some_spares();
  return next_unshare()(flags);
}

// NOLINTBEGIN(bugprone-macro-parentheses): `list` is a declaration
// Collects a call's arguments, which end with a null, into the array `arguments`. `list` then points behind them.
#define TARN_ARGUMENTS(first, list)                                                            \
  std::size_t count = 1;                                                                       \
  va_list list;                                                                                \
  va_start(list, first);                                                                       \
  while (va_arg(list, const char*) != nullptr) ++count;                                        \
  va_end(list);                                                                                \
  auto** const arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                                     \
  va_start(list, first);                                                                       \
  for (std::size_t index = 1; index <= count; ++index) arguments[index] = va_arg(list, char*)
// NOLINTEND(bugprone-macro-parentheses)

TARN_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  TARN_ARGUMENTS(first, list);
  va_end(list);
  return execve(path, arguments, ::environ);
}
TARN_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  TARN_ARGUMENTS(first, list);
  va_end(list);
  return execvpe(file, arguments, ::environ);
}
TARN_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  TARN_ARGUMENTS(first, list);
  char* const* const environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, arguments, environment);
}

}  // extern "C"
