#include "profiler/launch/attachment.hpp"

#include "profiler/base/failure.hpp"

#if defined(__x86_64__)
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "profiler/launch/remote_process.hpp"
#include "profiler/launch/traced_thread.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

constexpr std::string_view recorder_name = "libtarn-record.so", region_link = "/memfd:tarn-record ";
constexpr std::string_view loaded_library = "memfd:libtarn-record.so";

// Returns a number of /proc/PID/status; nothing if it has no such line.
std::optional<long> status_of(pid_t process, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::atol(line.c_str() + name.size());
  }
  return std::nullopt;
}

std::string link_of(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

// Returns the path of the region that the process counts in, or counted in; empty if there is none.
std::string region_of(pid_t process) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", process), error)) {
    if ((link_of(entry.path().string()) + ' ').starts_with(region_link)) return entry.path().string();
  }
  return {};
}

// Tells where a thread may call functions that allocate and load libraries.
class safe_places {
 public:
  explicit safe_places(const remote_process& process) : process_(process), mappings_(process.mappings()) {
    constexpr std::string_view restorer_code("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
    restorer_ = process.find_code("/libc", restorer_code);
    std::string path;
    for (const remote_mapping& mapping : mappings_) {
      if (mapping.offset != 0 || mapping.path == path || !mapping.path.starts_with('/')) continue;
      path = mapping.path;
      const bool is_c_library = is_c_library_path(path);
      if (!is_c_library && process.function_of(mapping.start, "malloc") != 0) allocators_.push_back(path);
    }
  }

  // `reads` is how many bytes above the stack pointer are searched for return addresses of the loader.
  bool has(const user_regs_struct& registers, std::size_t bytes) const {
    const auto call = static_cast<std::int64_t>(registers.orig_rax);
    return !is_locking(registers.rip) && (call >= 0 ? is_plain(call, registers) : !is_c_library_code(registers.rip)) &&
           is_stack_safe(registers.rsp, bytes);
  }

 private:
  static bool is_c_library_path(const std::string& path) {
    return path.find("/libc.so") != std::string::npos || path.find("/libc-2") != std::string::npos;
  }
  const remote_mapping* mapping_of(remote_address address) const {
    for (const remote_mapping& mapping : mappings_) {
      if (mapping.has(address)) return &mapping;
    }
    return nullptr;
  }
  bool is_c_library_code(remote_address address) const {
    const remote_mapping* const mapping = mapping_of(address);
    return mapping == nullptr || is_c_library_path(mapping->path);
  }
  // Returns whether code there may hold a lock of the loader, of an allocator or of the recorder.
  bool is_locking(remote_address address) const {
    const remote_mapping* const mapping = mapping_of(address);
    if (mapping == nullptr || !mapping->is_code) return mapping != nullptr && mapping->is_code;
    const std::string& path = mapping->path;
    return path.find("/ld-") != std::string::npos || path.find(recorder_name) != std::string::npos ||
           std::find(allocators_.begin(), allocators_.end(), path) != allocators_.end();
  }
  // Returns whether a thread that makes this call is in no allocator and begins or ends no thread or program.
  bool is_plain(std::int64_t call, const user_regs_struct& registers) const {
    constexpr std::array others = {SYS_mmap,    SYS_munmap,         SYS_mremap,       SYS_brk,
                                   SYS_madvise, SYS_mprotect,       SYS_clone,        SYS_clone3,
                                   SYS_fork,    SYS_vfork,          SYS_exit,         SYS_exit_group,
                                   SYS_execve,  SYS_execveat,       SYS_rt_sigreturn, SYS_set_robust_list,
                                   SYS_rseq,    SYS_set_tid_address};
    if (std::find(others.begin(), others.end(), call) != others.end()) return false;
    if (call != SYS_futex) return true;
    const remote_mapping* const waits_at = mapping_of(registers.rdi);
    const bool is_internal = waits_at != nullptr && (is_c_library_path(waits_at->path) || waits_at->path.empty());
    return !is_internal || !is_beside_c_library(waits_at);
  }
  // The data of the C library goes on in a mapping without a name.
  bool is_beside_c_library(const remote_mapping* mapping) const {
    if (!mapping->path.empty()) return true;
    return mapping != mappings_.data() && is_c_library_path((mapping - 1)->path) &&
           (mapping - 1)->end == mapping->start;
  }
  bool is_stack_safe(remote_address stack, std::size_t bytes) const {
    constexpr std::size_t searched_bytes = 64 * 1024;
    const remote_mapping* const mapping = mapping_of(stack);
    if (mapping == nullptr) return true;  // mapped after the list was made
    std::vector<std::uint64_t> words(std::min<std::size_t>(searched_bytes, mapping->end - stack) / 8);
    if (!process_.read(stack, words.data(), words.size() * 8)) return false;
    for (std::size_t index = 0; index < words.size(); ++index) {
      if (words[index] == restorer_ && restorer_ != 0) return false;  // in a signal's handler
      if (index * 8 < bytes && is_locking(words[index]) && follows_call(words[index])) return false;
    }
    return true;
  }
  bool follows_call(remote_address address) const {
    std::array<unsigned char, 8> code{};
    if (!process_.read(address - code.size(), code.data(), code.size())) return true;
    const auto is_indirect = [&](std::size_t length) {
      return code[8 - length] == 0xff && (code[9 - length] & 0x38) == 0x10;
    };
    return code[3] == 0xe8 || is_indirect(2) || is_indirect(3) || is_indirect(6) || is_indirect(7);
  }

  const remote_process& process_;
  std::vector<remote_mapping> mappings_;
  std::vector<std::string> allocators_;
  remote_address restorer_ = 0;
};

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return threads;
}

// A thread of the process that is stopped where it may call anything.
struct stopped_thread {
  std::unique_ptr<traced_thread> thread;
  steady::time_point since;
};

stopped_thread stop_one(const remote_process& process, remote_address call_instruction) {
  constexpr std::size_t near = 4096, nearest = 512;
  constexpr std::chrono::seconds patience{20};
  const auto begun = steady::now();
  while (steady::now() < begun + patience) {
    const safe_places places(process);
    const std::vector<pid_t> threads = threads_of(process.number());
    if (threads.empty()) break;
    for (const pid_t number : threads) {
      const auto since = steady::now();
      auto thread = std::make_unique<traced_thread>(process, number, call_instruction);
      const bool is_patient = since < begun + patience / 2;
      if (thread->is_stopped() && places.has(thread->registers(), is_patient ? near : nearest))
        return {std::move(thread), since};
    }
    ::usleep(1000);
  }
  fail(exit_code::io_error, "process {}: no thread came to a place where it can load the recorder; try again",
       process.number());
}

// Calls functions of the process in one of its threads.
class remote_caller {
 public:
  explicit remote_caller(const remote_process& process) : process_(process) {
    call_instruction_ = process.find_code("/libc", std::string_view("\x0f\x05", 2));
    stopped_ = stop_one(process, call_instruction_);
    stopped_.thread->begin_calls();
    const std::int64_t mapped = system_call(SYS_mmap, 0, scratch_bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0}, 0);
    if (mapped < 0 && mapped > -4096) fail(exit_code::no_memory, "process {} has no memory left", process.number());
    scratch_ = static_cast<remote_address>(mapped);
  }
  remote_caller(const remote_caller&) = delete;
  remote_caller& operator=(const remote_caller&) = delete;
  ~remote_caller() {
    try {
      if (scratch_ != 0) system_call(SYS_munmap, scratch_, scratch_bytes);
    } catch (const failure&) {  // the process has ended
    }
  }

  std::chrono::nanoseconds stopped_for() const { return steady::now() - stopped_.since; }
  template <class... Words>
  std::int64_t system_call(long number, Words... words) {
    const std::array<std::uint64_t, sizeof...(words)> arguments = {static_cast<std::uint64_t>(words)...};
    return stopped_.thread->system_call(static_cast<std::uint64_t>(number), arguments);
  }
  template <class... Words>
  std::uint64_t call(remote_address function, Words... words) {
    const std::array<std::uint64_t, sizeof...(words)> arguments = {static_cast<std::uint64_t>(words)...};
    return stopped_.thread->call(function, arguments, scratch_ + scratch_bytes - 64);
  }
  // Returns the address of a copy of the text in the process, until the next copy.
  remote_address copy(const std::string& text) {
    process_.write(scratch_, text.c_str(), text.size() + 1);
    return scratch_;
  }
  // Makes an empty file in memory. Returns its descriptor in the process.
  int make_file(const std::string& name) {
    const std::int64_t file = system_call(SYS_memfd_create, copy(name), MFD_CLOEXEC);
    if (file < 0)
      fail(exit_code::no_memory, "process {} cannot make a file: {}", process_.number(),
           system_error_text(static_cast<int>(-file)));
    return static_cast<int>(file);
  }

 private:
  static constexpr std::size_t scratch_bytes = 256 * 1024;
  const remote_process& process_;
  remote_address call_instruction_ = 0, scratch_ = 0;
  stopped_thread stopped_;
};

std::string content_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Loads the library from a file in memory, which the process sees whatever its file system and its user are.
void load(remote_caller& caller, const remote_process& process, const std::string& content) {
  remote_address open = process.function_of(process.module_start("/libc.so"), "dlopen");
  if (open == 0) open = process.function_of(process.module_start("/libdl"), "dlopen");
  if (open == 0) fail(exit_code::io_error, "process {} has no dlopen: its C library is too old", process.number());
  const int file = caller.make_file(std::string(recorder_name));
  std::ofstream target(fmt::format("/proc/{}/fd/{}", process.number(), file), std::ios::binary);
  target << content << std::flush;
  constexpr std::uint64_t now = 2;  // RTLD_NOW | RTLD_LOCAL
  const std::uint64_t handle = target ? caller.call(open, caller.copy(fmt::format("/proc/self/fd/{}", file)), now) : 0;
  std::string reason;
  if (handle == 0) {
    const remote_address error = process.function_of(process.module_start("/libc.so"), "dlerror");
    if (error != 0 && target) reason = process.text_at(caller.call(error));
  }
  caller.system_call(SYS_close, file);
  if (handle == 0) fail(exit_code::io_error, "process {} cannot load {}: {}", process.number(), recorder_name, reason);
}

void check_program(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/exe", process), std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    fail(exit_code::cannot_run,
         "process {} is no 64-bit x86-64 program; record it from its start where it was built for", process);
  }
}

}  // namespace

void require_attachable(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) fail(exit_code::io_error, "process {} does not exist", process);
  if (process == ::getpid()) fail(exit_code::usage, "tarn record cannot record itself");
  const std::string program = link_of(fmt::format("/proc/{}/exe", process));
  if (program.empty()) {
    struct stat facts {};
    const bool is_known = ::stat(fmt::format("/proc/{}", process).c_str(), &facts) == 0;
    if (is_known && facts.st_uid != ::geteuid()) {
      fail(exit_code::io_error, "process {} belongs to another user (number {}); try sudo tarn record --pid {}",
           process, facts.st_uid, process);
    }
    fail(exit_code::io_error,
         "process {} is a kernel thread, has ended, or is protected; try sudo tarn record --pid {}", process, process);
  }
  check_program(process);
  if (const long tracer = status_of(process, "TracerPid:").value_or(0); tracer != 0) {
    fail(exit_code::io_error, "process {} is traced by process {} (gdb, strace); end that first", process, tracer);
  }
  if (status_of(process, "Seccomp:").value_or(0) != 0) {
    fail(exit_code::io_error,
         "process {} has restricted its system calls (seccomp), and loading the recorder could end it; record it from "
         "its start: tarn record -- PROGRAM",
         process);
  }
  const remote_process target(process);
  if (target.module_start("/libc.so") == 0 && target.module_start("/libc-2") == 0) {
    fail(exit_code::cannot_run,
         "process {} is statically linked or uses another C library than glibc, so the recorder cannot be loaded into "
         "it",
         process);
  }
  if (target.module_start(recorder_name) != 0 && target.module_start(loaded_library) == 0) {
    fail(exit_code::io_error, "process {} was started by tarn record and is recorded already", process);
  }
}

attachment attach_to(pid_t process, const std::string& library,
                     const std::function<bool(const std::string& path, bool is_new)>& prepare) {
  const remote_process target(process);
  const std::string content = content_of_file(library);
  attachment result;
  result.is_new = target.module_start(loaded_library) == 0;
  const auto in_use = [&] {
    fail(exit_code::io_error, "process {} is recorded already, by another tarn record; end that first", process);
  };
  if (!result.is_new) {
    result.region = region_of(process);
    if (result.region.empty()) {
      fail(exit_code::io_error,
           "process {} was recorded before and has closed the recorder's files; it can be recorded after a new start",
           process);
    }
    if (!prepare(result.region, false)) in_use();
  }
  remote_caller caller(target);
  std::int64_t file = -1;
  if (result.is_new) {
    load(caller, target, content);
    file = caller.make_file("tarn-record");
    result.region = fmt::format("/proc/{}/fd/{}", process, file);
    if (!prepare(result.region, true)) in_use();
  }
  const remote_address begin = target.function_of(target.module_start(loaded_library), "tarn_recorder_attach");
  const auto hooked = static_cast<std::int64_t>(caller.call(begin, static_cast<std::uint64_t>(file)));
  // A recorder that was killed leaves the hooks in place, and this one takes them over.
  if (hooked < 0 && hooked != -EALREADY) {
    fail(exit_code::io_error, "process {} cannot be recorded: {}", process,
         system_error_text(static_cast<int>(-hooked)));
  }
  result.stopped = caller.stopped_for();
  return result;
}

std::chrono::nanoseconds detach_from(pid_t process) {
  const remote_process target(process);
  const remote_address start = target.module_start(loaded_library);
  if (start == 0) {
    fail(exit_code::io_error, "process {} has become another program, which is not recorded", process);
  }
  remote_caller caller(target);
  caller.call(target.function_of(start, "tarn_recorder_detach"));
  return caller.stopped_for();
}

}  // namespace tarn::command
#else
namespace tarn::command {
namespace {
[[noreturn]] void refuse() { fail(exit_code::missing, "--pid: only on x86-64; start the program with tarn record"); }
}  // namespace
void require_attachable(pid_t) { refuse(); }
attachment attach_to(pid_t, const std::string&, const std::function<bool(const std::string&, bool)>&) { refuse(); }
std::chrono::nanoseconds detach_from(pid_t) { refuse(); }
}  // namespace tarn::command
#endif
