#include "profiler/launch/attachment.hpp"

#include "profiler/base/failure.hpp"

#if defined(__x86_64__)
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "profiler/format/process_page.hpp"
#include "profiler/format/region.hpp"
#include "profiler/format/unhooked.hpp"
#include "profiler/launch/access.hpp"
#include "profiler/launch/filters.hpp"
#include "profiler/launch/injected_code.hpp"
#include "profiler/launch/loader_locks.hpp"
#include "profiler/launch/recorder_image.hpp"
#include "profiler/launch/recording_lock.hpp"
#include "profiler/launch/remote_process.hpp"
#include "profiler/launch/remote_stacks.hpp"
#include "profiler/launch/traced_thread.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

constexpr std::string_view recorder_name = "libtarn-record.so", region_link = "/memfd:tarn-record ",
                           library_link = "/memfd:libtarn-record.so ";
constexpr std::string_view loaded_library = "memfd:libtarn-record.so";

std::string link_of(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

// Returns what the recorder that is loaded at `start` says of the process; nothing where it is not loaded to its end.
std::optional<format::process_states> states_of(const remote_process& process, remote_address start) {
  const remote_address pointer = process.function_of(start, format::process_page_symbol);
  const auto page = process.value_at<remote_address>(pointer);
  return page && *page != 0 ? process.value_at<format::process_states>(*page) : std::nullopt;
}

// Returns the `tarn record` that started the program of the process; 0 where it has ended, or is not seen from here.
pid_t starter_of(pid_t process) {
  const std::string setting = std::string(format::region_variable) + "=/proc/";
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (!variable.starts_with(setting)) continue;
    const std::string path = variable.substr(setting.size());
    return (link_of("/proc/" + path) + ' ').starts_with(region_link) ? std::atoi(path.c_str()) : 0;
  }
  return 0;
}

// Throws a failure where the process has the recorder since the start of its program. Its hooks have no switch.
void require_no_start_by_recorder(const remote_process& process) {
  const remote_address start = process.module_start(recorder_name);
  if (start == 0 || process.module_start(loaded_library) != 0) return;
  const pid_t number = process.number();
  if (const auto states = states_of(process, start); states && states->is_recorded != 0)
    fail_in_use(number, starter_of(number));
  fail(exit_code::io_error,
       "process {} comes from a program that tarn record started, and is not recorded: start that program with tarn "
       "record --follow, or without tarn record",
       number);
}

// Returns the path of the region that the process counts in, or counted in; empty if there is none.
std::string region_of(const remote_process& process) {
  for (const int descriptor : process.descriptors()) {
    const std::string path = process.path_of(descriptor);
    if ((link_of(path) + ' ').starts_with(region_link)) return path;
  }
  return {};
}

// Returns the files that an earlier `tarn record` made in the process, or in its parent before the fork, and that
// nothing there uses: it was killed, or the parent has them.
std::vector<int> recorder_files_of(const remote_process& process) {
  std::vector<int> files;
  for (const int descriptor : process.descriptors()) {
    const std::string link = link_of(process.path_of(descriptor)) + ' ';
    if (link.starts_with(region_link) || link.starts_with(library_link)) files.push_back(descriptor);
  }
  return files;
}

// Returns true for the path of glibc: libc.so.6, or libc-2.31.so before 2.34. musl's may be called libc.so.
bool is_c_library_path(const std::string& path) {
  return path.find("/libc.so.6") != std::string::npos || path.find("/libc-2") != std::string::npos;
}
bool is_recorder(const std::string& path) { return path.find(recorder_name) != std::string::npos; }
remote_mapping c_library_of(const remote_process& process) {
  for (remote_mapping& mapping : process.mappings()) {
    if (mapping.offset == 0 && is_c_library_path(mapping.path)) return std::move(mapping);
  }
  return {};
}

// Tells where a thread may call functions that allocate and load libraries.
class safe_points {
 public:
  explicit safe_points(const remote_process& process) : process_(process), mappings_(process.mappings()) {
    const std::string program = link_of(fmt::format("/proc/{}/exe", process.number()));
    std::string path;
    bool is_allocator = false;
    for (const remote_mapping& mapping : mappings_) {
      if (!mapping.path.starts_with('/')) continue;
      if (mapping.offset == 0 && mapping.path != path) {
        path = mapping.path;
        is_allocator =
            !is_c_library_path(path) && !is_recorder(path) && process.function_of(mapping.start, "malloc") != 0;
        if (path == program) has_own_malloc_ = std::exchange(is_allocator, false);
      }
      if (!mapping.is_code) continue;
      if (is_allocator && mapping.path == path) {
        allocators_.push_back(&mapping);
      } else if (mapping.path.find("/ld-") != std::string::npos || is_recorder(mapping.path)) {
        loaders_.push_back(&mapping);
      }
    }
  }

  // Searches the thread's stack for signals' handlers and for return addresses of allocators, and near its top also for
  // those of the loader and of the recorder. They may be left over from calls that have returned: if `stacks` are
  // given, these tell.
  bool has(const user_regs_struct& registers, remote_stacks* stacks) const {
    const auto call = static_cast<std::int64_t>(registers.orig_rax);
    if (has_own_malloc_ && !waits_for_input(call, registers)) return false;
    return !is_locking(registers.rip) && (call >= 0 ? is_plain(call, registers) : !is_c_library_code(registers.rip)) &&
           (is_stack_safe(registers.rsp) || (stacks != nullptr && is_walk_safe(stacks->frames_of(registers))));
  }

 private:
  using mapping_list = std::vector<const remote_mapping*>;
  const remote_mapping* mapping_of(remote_address address) const {
    for (const remote_mapping& mapping : mappings_) {
      if (mapping.has(address)) return &mapping;
    }
    return nullptr;
  }
  static bool has_address(const mapping_list& list, remote_address address) {
    return std::any_of(list.begin(), list.end(), [&](const remote_mapping* mapping) { return mapping->has(address); });
  }
  bool is_c_library_code(remote_address address) const {
    const remote_mapping* const mapping = mapping_of(address);
    return mapping == nullptr || is_c_library_path(mapping->path);
  }
  // Returns whether code there may have a lock of the loader, of an allocator or of the recorder.
  bool is_locking(remote_address address) const {
    return has_address(loaders_, address) || has_address(allocators_, address);
  }
  // Returns whether a thread in this call waits for what no allocator waits for: the program has one of its own, and
  // its code is not told from the other code.
  bool waits_for_input(std::int64_t call, const user_regs_struct& registers) const {
    constexpr std::array waits = {SYS_poll,          SYS_ppoll,           SYS_select,       SYS_pselect6,
                                  SYS_epoll_wait,    SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_accept,
                                  SYS_accept4,       SYS_recvfrom,        SYS_recvmsg,      SYS_recvmmsg,
                                  SYS_wait4,         SYS_waitid,          SYS_pause,        SYS_rt_sigsuspend,
                                  SYS_io_getevents,  SYS_rt_sigtimedwait, SYS_msgrcv,       SYS_mq_timedreceive,
                                  SYS_io_uring_enter};
    if (call != SYS_read && call != SYS_readv) return std::find(waits.begin(), waits.end(), call) != waits.end();
    struct stat file {};
    return ::stat(process_.path_of(static_cast<int>(registers.rdi)).c_str(), &file) == 0 && !S_ISREG(file.st_mode);
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
  // The data of the C library continues in a mapping without a name.
  bool is_beside_c_library(const remote_mapping* mapping) const {
    if (!mapping->path.empty()) return true;
    return mapping != mappings_.data() && is_c_library_path((mapping - 1)->path) &&
           (mapping - 1)->end == mapping->start;
  }
  bool is_stack_safe(remote_address stack) const {
    constexpr std::size_t max_bytes = 2 * 1024 * 1024, near_words = 512;
    const remote_mapping* const mapping = mapping_of(stack);
    if (mapping == nullptr) return false;  // mapped after the list was made
    // From the word below the top on, which a handler has just returned to.
    const remote_address begin = std::max(mapping->start, stack - sizeof(std::uint64_t));
    std::vector<std::uint64_t> stack_words(std::min(max_bytes, mapping->end - begin) / sizeof(std::uint64_t));
    if (!process_.read(begin, stack_words.data(), stack_words.size() * sizeof(std::uint64_t))) return false;
    for (std::size_t index = 0; index < stack_words.size(); ++index) {
      const bool is_return = index > 0 && (has_address(allocators_, stack_words[index]) ||
                                           (index <= near_words && has_address(loaders_, stack_words[index])));
      if (is_signal_frame(std::span(stack_words).subspan(index)) || (is_return && follows_call(stack_words[index])))
        return false;
    }
    return true;
  }
  // Returns whether the words are those that the kernel puts on a stack for a signal's handler: where that returns to,
  // and the registers of the code that the signal has interrupted.
  bool is_signal_frame(std::span<const std::uint64_t> stack_words) const {
    constexpr std::size_t first_register = 1 + offsetof(ucontext_t, uc_mcontext.gregs) / sizeof(std::uint64_t);
    constexpr std::uint64_t segment_bits = 0xffff, code_segment = 0x33, set_flags = 0x202, max_flags = 0x3fffff;
    if (stack_words.size() < first_register + NGREG) return false;
    const auto saved = [&](std::size_t number) { return stack_words[first_register + number]; };
    const auto is_code = [&](remote_address address) {
      const remote_mapping* const mapping = mapping_of(address);
      return mapping != nullptr && mapping->is_code;
    };
    return (saved(REG_CSGSFS) & segment_bits) == code_segment && (saved(REG_EFL) & set_flags) == set_flags &&
           saved(REG_EFL) <= max_flags && is_code(saved(REG_RIP)) && is_code(stack_words[0]);
  }
  bool is_walk_safe(const std::vector<remote_address>& frames) const {
    return !frames.empty() &&
           std::none_of(frames.begin(), frames.end(), [&](remote_address frame) { return is_locking(frame - 1); });
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
  mapping_list loaders_, allocators_;  // their code; that of the recorder counts as the loader's
  bool has_own_malloc_ = false;        // in the program's file
};

// Returns the threads of the program that can be stopped. Nothing stops one that waits for its child of vfork, or for a
// disk. Throws a failure where all have ended.
std::vector<pid_t> stoppable_threads_of(pid_t process) {
  std::vector<pid_t> threads;
  bool has_living = false;
  for (const pid_t thread : threads_of(process)) {
    const char state = state_of_thread(process, thread);
    if (state == '\0' || state == 'Z' || state == 'X') continue;
    has_living = true;
    if (state != 'D' && !is_of_kernel(process, thread)) threads.push_back(thread);
  }
  if (!has_living) fail(exit_code::io_error, "process {} ended meanwhile", process);
  return threads;
}

// Gives this thread a higher priority than all usual ones while this object lives, if the user may do so, as the
// stopped thread has (traced_thread.cpp).
class hurried_thread {
 public:
  hurried_thread() : policy_before_(::sched_getscheduler(0)) {
    const sched_param lowest{1};
    is_hurried_ = policy_before_ == SCHED_OTHER && ::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
  }
  hurried_thread(const hurried_thread&) = delete;
  hurried_thread& operator=(const hurried_thread&) = delete;
  ~hurried_thread() {
    const sched_param usual{0};
    if (is_hurried_) ::sched_setscheduler(0, policy_before_, &usual);
  }

 private:
  int policy_before_;
  bool is_hurried_ = false;
};

// A thread of the process that is stopped where it may call any function.
struct stopped_thread {
  std::unique_ptr<traced_thread> thread;
  steady::time_point since;
};

stopped_thread stop_one(const remote_process& process) {
  constexpr std::chrono::seconds patience{20}, patience_for_lock{5};
  const auto begun = steady::now();
  const loader_locks locks(process);
  auto last_free = begun;                 // when no thread had a lock of the loader
  std::unique_ptr<remote_stacks> stacks;  // not before they are needed
  while (steady::now() < begun + patience) {
    if (const pid_t holder = locks.holder(); holder == 0) {
      last_free = steady::now();
    } else if (steady::now() < last_free + patience_for_lock) {
      ::usleep(1000);
      continue;
    } else {
      fail(exit_code::io_error,
           "process {}: its thread {} is in dlopen or dl_iterate_phdr and has a lock of the loader, which the recorder "
           "needs; try again when that call has ended, or start the program with tarn record",
           process.number(), holder);
    }
    const safe_points points(process);
    for (const pid_t number : stoppable_threads_of(process.number())) {
      const auto since = steady::now();
      auto thread = std::make_unique<traced_thread>(process, number);
      if (thread->is_stopped() && thread->has_descriptor() && points.has(thread->registers(), stacks.get()) &&
          locks.holder() == 0)
        return {std::move(thread), since};
    }
    if (stacks == nullptr) stacks = std::make_unique<remote_stacks>(process);
    ::usleep(1000);
  }
  fail(exit_code::io_error,
       "process {}: no thread came to a place where it can load the recorder; they are in malloc, the loader, a "
       "handler of a signal or a wait that nothing interrupts, or the C library has not started them; try again",
       process.number());
}

// Returns the address of a function of the C library; 0 if it has none.
remote_address c_function(const remote_process& process, std::string_view name) {
  for (const remote_address start : {c_library_of(process).start, process.module_start("/libdl")}) {
    if (const remote_address function = start == 0 ? 0 : process.function_of(start, name); function != 0)
      return function;
  }
  return 0;
}

// Calls functions of the process in one of its threads, which is stopped while this object lives.
class remote_caller {
 public:
  remote_caller(const remote_process& process, const injected_code& code)
      : process_(process), stopped_(stop_one(process)) {
    const std::int64_t mapped = stopped_.thread->begin_calls(code, scratch_bytes);
    if (mapped < 0 && mapped > -4096) fail(exit_code::no_memory, "process {} has no memory left", process_.number());
    scratch_ = static_cast<remote_address>(mapped);
  }
  remote_caller(const remote_caller&) = delete;
  remote_caller& operator=(const remote_caller&) = delete;

  // Resumes the thread. Returns how long it was stopped.
  std::chrono::nanoseconds finish() {
    stopped_.thread.reset();
    return steady::now() - stopped_.since;
  }
  // Returns the number by which the process itself knows the stopped thread.
  pid_t thread() const { return process_.own_number_of(stopped_.thread->number()); }
  template <class... Words>
  std::uint64_t call(remote_address function, Words... values) {
    const std::array<std::uint64_t, sizeof...(values)> arguments = {static_cast<std::uint64_t>(values)...};
    return stopped_.thread->call(function, arguments);
  }
  // Returns the address of a copy of the text in the scratch memory, until the next copy.
  remote_address copy(const std::string& text) {
    process_.write(scratch_, text.c_str(), text.size() + 1);
    return scratch_;
  }
  // Makes an empty file in memory. Returns its descriptor in the process.
  int make_file(const std::string& name) {
    const std::int64_t file = system_call(SYS_memfd_create, copy(name), MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
      fail(exit_code::no_memory, "process {} cannot make a file: {}", process_.number(),
           system_error_text(static_cast<int>(-file)));
    return static_cast<int>(file);
  }
  template <class... Words>
  std::int64_t system_call(long number, Words... values) {
    const std::array<std::uint64_t, sizeof...(values)> arguments = {static_cast<std::uint64_t>(values)...};
    return stopped_.thread->system_call(static_cast<std::uint64_t>(number), arguments);
  }

 private:
  static constexpr std::size_t scratch_bytes = 256 * 1024;
  const hurried_thread own_haste_;
  const remote_process& process_;
  stopped_thread stopped_;
  remote_address scratch_ = 0;
};

// Loads the library from a file in memory, which the process sees with any file system and any user. Returns
// its load address; the file's descriptor in the process stays open.
remote_address load(remote_caller& caller, const remote_process& process, const recorder_image& image,
                    remote_address open, int file) {
  std::ofstream target(process.path_of(file), std::ios::binary);
  target << image.loaded_part() << std::flush;
  constexpr std::uint64_t now = 2;  // RTLD_NOW | RTLD_LOCAL
  const auto open_as = [&](const std::string& path) { return caller.call(open, caller.copy(path), now); };
  // The loader keeps the path. Debuggers open it in their own process, where the number of the file may be that of a
  // pipe, but no thread has this number.
  std::uint64_t handle = target ? open_as(fmt::format("/proc/self/task/{}/fd/{}", caller.thread(), file)) : 0;
  if (handle == 0 && target) {  // the process sees a /proc of other process numbers
    constexpr int unusual_number = 1000;
    const std::int64_t copy = caller.system_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, unusual_number);
    handle = open_as(fmt::format("/proc/self/fd/{}", copy < 0 ? file : copy));
    if (copy >= 0) caller.system_call(SYS_close, copy);
  }
  remote_address start = 0;  // the first word of the structure that the handle points to
  if (handle != 0 && process.read(handle, &start, sizeof start)) return start;
  std::string reason;
  if (const remote_address error = c_function(process, "dlerror"); error != 0 && target)
    reason = process.text_at(caller.call(error));
  caller.system_call(SYS_close, file);
  fail(exit_code::io_error, "process {} cannot load {}: {}", process.number(), recorder_name, reason);
}

// Throws a failure where the program is of another machine. Returns whether glibc's loader loads its libraries.
bool has_loader(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/exe", process), std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return true;  // it is just becoming another program
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    fail(exit_code::cannot_run,
         "process {} is no 64-bit x86-64 program; record it from its start where it was built for", process);
  }
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  Elf64_Phdr part{};
  for (unsigned left = header.e_phnum; left > 0 && file.read(reinterpret_cast<char*>(&part), sizeof part); --left) {
    if (part.p_type != PT_INTERP) continue;
    std::string path(part.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    return file.read(path.data(), static_cast<std::streamsize>(path.size())) && path.find("/ld-linux") != path.npos;
  }
  return false;
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
    if (state_of_thread(process, process) == 'Z' && threads_of(process).size() > 1) {
      fail(exit_code::io_error,
           "process {}: its first thread has ended, and the kernel shows nothing of such a process; record it from its "
           "start: tarn record -- PROGRAM",
           process);
    }
    fail(exit_code::io_error,
         "process {} is a kernel thread, has ended, or is protected; try sudo tarn record --pid {}", process, process);
  }
  const bool is_dynamic = has_loader(process);
  if (tracer_of(process) != 0) fail_untraceable(process, EPERM);
  const remote_process target(process);
  require_allowed_calls(target);
  constexpr int max_tries = 20'000;  // a process that has just begun maps its libraries soon
  bool has_c_library = c_library_of(target).start != 0;
  for (int tries = 0; is_dynamic && !has_c_library && tries < max_tries; ++tries) {
    ::usleep(1000);
    has_c_library = c_library_of(target).start != 0;
  }
  if (!has_c_library && target.mappings().empty()) fail(exit_code::io_error, "process {} ended meanwhile", process);
  if (!has_c_library) {
    fail(exit_code::cannot_run,
         "process {} is statically linked or uses another C library than glibc, so the recorder cannot be loaded into "
         "it",
         process);
  }
  require_no_start_by_recorder(target);
}

attachment attach_to(pid_t process, const std::string& library,
                     const std::function<void(const std::string& path, bool is_new)>& prepare) {
  const remote_process target(process);
  const injected_code code = find_room_for_code(target);
  const recorder_image image(library);
  attachment result;
  remote_address start = target.module_start(loaded_library);
  result.is_new = start == 0;
  const auto offset_of = [&](std::string_view name) {
    if (result.is_new) return image.offset_of(name);
    const remote_address address = target.function_of(start, name);
    return address == 0 ? 0 : address - start;
  };
  const remote_address attach = offset_of("tarn_recorder_attach");
  if (attach == 0 || offset_of(format::process_page_symbol) == 0) {
    if (result.is_new) fail(exit_code::io_error, "{}: it is of another version of Tarn", library);
    fail(exit_code::io_error,
         "process {} has the recorder of another version of Tarn; use the tarn of that version, or restart the process",
         process);
  }
  const bool is_loaded = !result.is_new;
  if (is_loaded) {
    const auto states = states_of(target, start);
    if (!states) fail_as_forked_under_loader(process);
    result.is_new = states->has_region == 0;
  }
  if (!result.is_new) {
    result.region = region_of(target);
    if (result.region.empty()) {
      fail(exit_code::io_error,
           "process {} was recorded before and has closed the recorder's files; it can be recorded after a new start",
           process);
    }
    prepare(result.region, false);
  }
  const remote_address open = c_function(target, "dlopen");
  if (open == 0) fail(exit_code::io_error, "process {} has no dlopen: its C library is too old", process);
  const std::vector<int> unused_files = result.is_new ? recorder_files_of(target) : std::vector<int>();
  remote_caller caller(target, code);
  for (const int unused : unused_files) caller.system_call(SYS_close, unused);
  std::int64_t file = -1, library_file = -1;
  if (!is_loaded) {
    library_file = caller.make_file(std::string(recorder_name));
    start = load(caller, target, image, open, static_cast<int>(library_file));
  }
  if (result.is_new) {
    file = caller.make_file("tarn-record");
    result.region = target.path_of(static_cast<int>(file));
    prepare(result.region, true);
  }
  const auto hooked = static_cast<std::int64_t>(caller.call(start + attach, file, library_file));
  // A recorder that was killed leaves the hooks in place, and this one takes them over.
  if (hooked == -ENOMEM) {
    fail(exit_code::no_memory,
         "process {} cannot be recorded: it has no room for the recorder's memory; /proc/{}/limits shows its limits of "
         "addresses and of locked memory",
         process, process);
  }
  if (hooked < 0 && hooked != -EALREADY) {
    fail(exit_code::io_error, "process {} cannot be recorded: {}", process,
         system_error_text(static_cast<int>(-hooked)));
  }
  if (hooked > 0) result.unhooked = hooked >> format::unhooked_shift;
  result.stopped = caller.finish();
  return result;
}

std::chrono::nanoseconds detach_from(pid_t process) {
  const remote_process target(process);
  const remote_address start = target.module_start(loaded_library);
  if (start == 0) {
    fail(exit_code::io_error,
         "process {} has become another program (exec), which is not recorded; to record it, run tarn record --pid "
         "again",
         process);
  }
  const remote_address detach = target.function_of(start, "tarn_recorder_detach");
  remote_caller caller(target, find_room_for_code(target));
  caller.call(detach);
  return caller.finish();
}

bool has_recorder(pid_t process) { return remote_process(process).module_start(loaded_library) != 0; }

}  // namespace tarn::command
#else
namespace tarn::command {
namespace {
[[noreturn]] void refuse() { fail(exit_code::missing, "--pid: only on x86-64; start the program with tarn record"); }
}  // namespace
void require_attachable(pid_t) { refuse(); }
attachment attach_to(pid_t, const std::string&, const std::function<void(const std::string&, bool)>&) { refuse(); }
std::chrono::nanoseconds detach_from(pid_t) { refuse(); }
bool has_recorder(pid_t) { refuse(); }
}  // namespace tarn::command
#endif
