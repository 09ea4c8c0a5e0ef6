// Wraps the exec family. A recorded process that becomes another program stays recorded: the variables that this
// takes are added to the next program's environment if the program has left them out (`env -i`). Where its LD_PRELOAD
// names other libraries alone, the recorder is put in front of them. The region is passed on as a descriptor, because
// the next program may be unable to open it (another user or PID namespace). Children keep the environment that they
// are given. Also wraps the functions after which children may be unable to open regions.
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <string_view>

#include "profiler/format/recorder_library.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/lent_thread.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/records/region.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

TARN_NEXT_FUNCTION(execve)
TARN_NEXT_FUNCTION(execvpe)
TARN_NEXT_FUNCTION(fexecve)
TARN_NEXT_FUNCTION(posix_spawn)
TARN_NEXT_FUNCTION(posix_spawnp)
TARN_NEXT_FUNCTION(unshare)
TARN_NEXT_FUNCTION(setns)
TARN_NEXT_FUNCTION(chroot)
TARN_NEXT_FUNCTION(setuid)
TARN_NEXT_FUNCTION(seteuid)
TARN_NEXT_FUNCTION(setreuid)
TARN_NEXT_FUNCTION(setresuid)

namespace tarn::preload {
namespace {

// Opens the file of a program as execvp() finds it.
long open_program(const char* name, bool is_searched) noexcept {
  const auto open_file = [](const char* path) { return own_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC); };
  if (!is_searched || std::strchr(name, '/') != nullptr) return open_file(name);
  constexpr char variable_name[] = "PATH=";
  const char* folders = "/bin:/usr/bin";
  for (char* const* variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, variable_name, sizeof variable_name - 1) == 0)
      folders = *variable + sizeof variable_name - 1;
  }
  for (;;) {
    const char* const colon = std::strchr(folders, ':');
    const std::size_t bytes = colon == nullptr ? std::strlen(folders) : static_cast<std::size_t>(colon - folders);
    char path[512];
    if (bytes + std::strlen(name) + 2 <= sizeof path) {
      std::memcpy(path, folders, bytes);
      path[bytes] = '/';
      std::strcpy(path + (bytes == 0 ? 0 : bytes + 1), name);
      const long file = open_file(path);
      if (file >= 0) return file;
    }
    if (colon == nullptr) return -ENOENT;
    folders = colon + 1;
  }
}

// Returns why the program cannot load the recorder, as far as its file tells.
format::refusal refusal_of(long file) noexcept {
  Elf64_Ehdr header;
  if (own_call(SYS_pread64, file, &header, sizeof header, 0) != static_cast<long>(sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return format::refusal::loadable;
  bool has_loader = false;
  for (unsigned number = 0; number < header.e_phnum && !has_loader; ++number) {
    Elf64_Phdr part;
    const std::uint64_t position = header.e_phoff + std::uint64_t{number} * sizeof part;
    if (own_call(SYS_pread64, file, &part, sizeof part, position) != static_cast<long>(sizeof part))
      return format::refusal::loadable;
    has_loader = part.p_type == PT_INTERP;
  }
  if (!has_loader) return format::refusal::is_static;
  struct stat facts;
  if (own_call(SYS_fstat, file, &facts) != 0) return format::refusal::loadable;
  const bool changes_user = (facts.st_mode & S_ISUID) != 0 && facts.st_uid != own_call(SYS_getuid);
  const bool changes_group = (facts.st_mode & S_ISGID) != 0 && facts.st_gid != own_call(SYS_getgid);
  return changes_user || changes_group ? format::refusal::has_privileges : format::refusal::loadable;
}

// Holds LD_PRELOAD as this process had it; it stays empty when the value does not fit.
constinit char own_preload[2048] = {};

constexpr std::string_view preload_name = "LD_PRELOAD=";
std::string_view own_libraries() noexcept { return own_preload[0] == '\0' ? "" : own_preload + preload_name.size(); }

bool is_named(const char* variable, const char* name) noexcept {
  const std::size_t bytes = std::strlen(name);
  return std::strncmp(variable, name, bytes) == 0 && variable[bytes] == '=';
}

// Returns the recorder's library in a value of LD_PRELOAD; empty if it is not there.
std::string_view recorder_in(std::string_view libraries) noexcept {
  for (std::size_t begin = 0; begin < libraries.size();) {
    std::size_t end = begin;
    while (end < libraries.size() && libraries[end] != ':' && libraries[end] != ' ') ++end;  // as the loader reads them
    const std::string_view library = libraries.substr(begin, end - begin);
    if (format::is_recorder_library(library)) return library;
    begin = end + 1;
  }
  return {};
}

// Returns whether a program with this environment will not load the recorder, although this one has by LD_PRELOAD.
bool lacks_recorder(char* const* environment) noexcept {
  if (recorder_in(own_libraries()).empty()) return false;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (is_named(*environment, "LD_PRELOAD")) return recorder_in(*environment + preload_name.size()).empty();
  }
  return true;
}

// Counts the program if it cannot load the recorder: one that can counts itself. Returns its count, or null.
std::atomic<std::uint32_t>* note_child_program(const char* name, char* const* environment, bool is_searched) noexcept {
  if (!is_attached() || is_restricted() || name == nullptr) return nullptr;
  const long file = open_program(name, is_searched);
  if (file < 0) return nullptr;
  format::refusal why = refusal_of(file);
  own_call(SYS_close, file);
  if (why == format::refusal::loadable && lacks_recorder(environment)) why = format::refusal::lacks_recorder;
  return why == format::refusal::loadable ? nullptr : note_refused_program(name, why);
}

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

// Writes NAME=VALUE.
void write_text(char* text, std::string_view name, std::string_view value) noexcept {
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = '=';
  std::memcpy(text + name.size() + 1, value.data(), value.size());
  text[name.size() + 1 + value.size()] = '\0';
}

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

// Prepares an exec of this process and holds the environment that the exec hands on.
class continued_recording {
 public:
  continued_recording(const char* path, char* const* environment, bool is_searched = false) noexcept
      : environment_(environment) {
    // A child of vfork shares its parent's memory, but has another process number.
    is_own_ = detail::has_started.load(std::memory_order_acquire) && is_recorded() && !is_restricted() &&
              process_number() == raw_call(SYS_getpid);
    if (!is_own_) {
      if (is_restricted()) return;
      child_count_ = note_child_exec(is_lent());
      count_ = note_child_program(path, environment, is_searched);
      return;
    }
    const int file = begin_exec(path);
    std::size_t count = 0;
    bool is_preloaded = false;
    for (char* const* variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
      if (is_named(*variable, format::descriptor_variable)) continue;
      if (is_named(*variable, format::region_variable) || is_named(*variable, format::process_variable)) continue;
      if (count == limit) return;  // an environment of that size stays as it is
      const bool is_preload = is_named(*variable, "LD_PRELOAD");
      is_preloaded = is_preloaded || is_preload;
      pointers_[count++] = is_preload ? with_recorder(*variable) : *variable;
    }
    write_text(region_, format::region_variable, region_path());
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
  continued_recording(const continued_recording&) = delete;
  continued_recording& operator=(const continued_recording&) = delete;
  // Runs only when the exec has failed.
  ~continued_recording() {
    const int before = errno;
    if (is_own_) exec_failed();
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
    if (child_count_ != nullptr) child_count_->fetch_sub(1, std::memory_order_relaxed);
    errno = before;
  }
  char* const* environment() const noexcept { return environment_; }

 private:
  // Returns the variable LD_PRELOAD with the recorder in front of the libraries, or as it is where it names the
  // recorder or becomes too long.
  const char* with_recorder(const char* variable) noexcept {
    const std::string_view libraries = variable + preload_name.size();
    const std::string_view recorder = recorder_in(own_libraries());
    if (recorder.empty() || !recorder_in(libraries).empty() ||
        preload_name.size() + recorder.size() + 1 + libraries.size() >= sizeof preload_)
      return variable;
    char* end = preload_;
    for (const std::string_view part : {preload_name, recorder, std::string_view(":"), libraries}) {
      std::memcpy(end, part.data(), part.size());
      end += part.size();
    }
    *end = '\0';
    return preload_;
  }

  static constexpr std::size_t limit = 1024;
  bool is_own_ = false;
  std::atomic<std::uint32_t>* count_ = nullptr;        // of a child's program that is not recorded
  std::atomic<std::uint64_t>* child_count_ = nullptr;  // of children that became programs
  char* const* environment_;
  const char* pointers_[limit + 5];
  char region_[128], process_[64], descriptor_[64], preload_[sizeof own_preload];
};

}  // namespace
}  // namespace tarn::preload

using namespace tarn::preload;

extern "C" {

TARN_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  const continued_recording recording(path, environment);
  return next_execve()(path, arguments, recording.environment());
}
TARN_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
  const continued_recording recording(file, environment, true);
  return next_execvpe()(file, arguments, recording.environment());
}
TARN_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) noexcept {
  const continued_recording recording(arguments[0] != nullptr ? arguments[0] : "", environment);
  return next_fexecve()(file, arguments, recording.environment());
}
TARN_EXPORT int execv(const char* path, char* const* arguments) noexcept { return execve(path, arguments, ::environ); }
TARN_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return execvpe(file, arguments, ::environ);
}

TARN_EXPORT int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  if (records_anything()) note_child_program(path, environment, false);
  return next_posix_spawn()(process, path, actions, attributes, arguments, environment);
}
TARN_EXPORT int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  if (records_anything()) note_child_program(file, environment, true);
  return next_posix_spawnp()(process, file, actions, attributes, arguments, environment);
}

TARN_EXPORT int unshare(int flags) noexcept {
  constexpr int changing_access = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS;
  if ((flags & changing_access) != 0 && records_anything()) hold_regions_open();
  return next_unshare()(flags);
}
TARN_EXPORT int setns(int file, int kind) noexcept {
  if (records_anything()) hold_regions_open();
  return next_setns()(file, kind);
}
TARN_EXPORT int chroot(const char* path) noexcept {
  if (records_anything()) hold_regions_open();
  return next_chroot()(path);
}
TARN_EXPORT int setuid(uid_t user) noexcept {
  if (records_anything()) hold_regions_open();
  return next_setuid()(user);
}
TARN_EXPORT int seteuid(uid_t user) noexcept {
  if (records_anything()) hold_regions_open();
  return next_seteuid()(user);
}
TARN_EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  if (records_anything()) hold_regions_open();
  return next_setreuid()(real, effective);
}
TARN_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  if (records_anything()) hold_regions_open();
  return next_setresuid()(real, effective, saved);
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
