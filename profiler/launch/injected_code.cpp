#include "profiler/launch/injected_code.hpp"

#if defined(__x86_64__)
#include <elf.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "profiler/base/failure.hpp"
#include "profiler/launch/traced_thread.hpp"

extern "C" {
extern const char tarn_injected_begin[], tarn_injected_start[], tarn_injected_call[], tarn_injected_return[],
    tarn_injected_first_stop[], tarn_injected_last_stop[], tarn_injected_end[];
}

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;
constexpr std::uint64_t code_mark = 0x316c6c61636e7274;  // another one where injected_data changes
constexpr std::size_t page_bytes = 4096;

std::size_t code_bytes() {
  return (static_cast<std::size_t>(tarn_injected_end - tarn_injected_begin) + sizeof(std::uint64_t) - 1) &
         ~(sizeof(std::uint64_t) - 1);
}

// Returns the first address behind the code of the module that begins at `start`; 0 if it has none.
remote_address code_end_of(const remote_process& process, remote_address start) {
  Elf64_Ehdr header{};
  if (!process.read(start, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  remote_address bias = start, end = 0;
  for (unsigned number = 0; number < header.e_phnum; ++number) {
    Elf64_Phdr part{};
    if (!process.read(start + header.e_phoff + number * sizeof part, &part, sizeof part)) return 0;
    if (part.p_type == PT_LOAD && part.p_offset == 0) bias = start - part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & (PF_X | PF_W)) == PF_X) end = part.p_vaddr + part.p_memsz;
  }
  return end == 0 ? 0 : bias + end;
}

remote_address room_for_code(const remote_process& process) {
  const std::vector<remote_mapping> mappings = process.mappings();
  for (const remote_mapping& module : mappings) {
    if (module.offset != 0 || !module.path.starts_with('/')) continue;
    const remote_address code_end = code_end_of(process, module.start);
    const remote_address room = (code_end + 15) & ~std::uint64_t{15};
    const remote_address page_end = (code_end + page_bytes - 1) & ~(page_bytes - 1);
    if (code_end == 0 || room + code_bytes() > page_end) continue;
    for (const remote_mapping& mapping : mappings) {
      if (mapping.is_code && mapping.path == module.path && mapping.has(room) && mapping.has(page_end - 1)) return room;
    }
  }
  fail(exit_code::io_error, "process {}: no file of its code leaves room behind it for the call of the recorder",
       process.number());
}

// Returns the thread with this number in its own namespace; 0 if there is none.
pid_t thread_with_own_number(const remote_process& process, std::uint64_t number) {
  for (const pid_t thread : threads_of(process.number())) {
    if (static_cast<std::uint64_t>(process.own_number_of(thread)) == number) return thread;
  }
  return 0;
}

}  // namespace

injected_code::injected_code(remote_address room)
    : begin(room),
      start(room + static_cast<std::size_t>(tarn_injected_start - tarn_injected_begin)),
      system_call(room + static_cast<std::size_t>(tarn_injected_call - tarn_injected_begin)),
      after_call(room + static_cast<std::size_t>(tarn_injected_return - tarn_injected_begin)),
      first_stop(room + static_cast<std::size_t>(tarn_injected_first_stop - tarn_injected_begin)),
      last_stop(room + static_cast<std::size_t>(tarn_injected_last_stop - tarn_injected_begin)),
      end(room + code_bytes()) {}

std::vector<std::uint64_t> injected_code::content_with(const injected_data& data) {
  std::vector<std::uint64_t> content(code_bytes() / sizeof(std::uint64_t));
  std::memcpy(content.data(), tarn_injected_begin, static_cast<std::size_t>(tarn_injected_end - tarn_injected_begin));
  std::memcpy(content.data(), &data, sizeof data);
  content[0] = code_mark;
  return content;
}

void set_registers(injected_data& data, const user_regs_struct& registers) {
  data.r15 = registers.r15, data.r14 = registers.r14, data.r13 = registers.r13, data.r12 = registers.r12;
  data.rbp = registers.rbp, data.rbx = registers.rbx, data.r11 = registers.r11, data.r10 = registers.r10;
  data.r9 = registers.r9, data.r8 = registers.r8, data.rcx = registers.rcx, data.rdx = registers.rdx;
  data.rsi = registers.rsi, data.rdi = registers.rdi, data.rsp = registers.rsp, data.flags = registers.eflags;
  data.repeated_rax = data.interrupted_rax = registers.rax;
  data.repeated_rip = data.interrupted_rip = registers.rip;
  if (static_cast<std::int64_t>(registers.orig_rax) < 0) return;
  // The kernel's own errors, by which it decides about an interrupted call when it lets the thread go on.
  constexpr std::int64_t restarts_always = 512, restarts_anyway = 513, restarts_without_handler = 514,
                         restarts_the_rest = 516;
  const auto result = -static_cast<std::int64_t>(registers.rax);
  const bool is_repeated_after_signal = result == restarts_always || result == restarts_anyway;
  if (!is_repeated_after_signal && result != restarts_without_handler && result != restarts_the_rest &&
      !is_ended_call(registers))
    return;
  const user_regs_struct repeated = repeated_call(registers);
  data.repeated_rax = repeated.rax, data.repeated_rip = repeated.rip;
  if (result == restarts_the_rest) data.repeated_rax = SYS_restart_syscall;
  if (is_repeated_after_signal) {
    data.interrupted_rax = data.repeated_rax, data.interrupted_rip = data.repeated_rip;
  } else {
    data.interrupted_rax = static_cast<std::uint64_t>(-EINTR);
  }
}

user_regs_struct repeated_call(const user_regs_struct& registers) {
  constexpr unsigned syscall_bytes = 2;
  user_regs_struct repeated = registers;
  repeated.rip -= syscall_bytes;
  repeated.rax = repeated.orig_rax;
  repeated.orig_rax = ~std::uint64_t{0};
  return repeated;
}

injected_code find_room_for_code(const remote_process& process) {
  constexpr std::chrono::seconds patience{20};
  const injected_code code(room_for_code(process));
  const auto until = steady::now() + patience;
  for (;;) {
    injected_data data{};
    if (!process.read(code.begin, &data, sizeof data) || data.mark != code_mark || data.thread == 0) return code;
    const pid_t thread = thread_with_own_number(process, data.thread);
    if (thread == 0) return code;
    const traced_thread led(process, thread);
    if (!led.is_stopped() || (!code.has(led.registers().rip) && led.signal_mask() != data.blocked_signals)) return code;
    if (steady::now() >= until) {
      fail(exit_code::io_error,
           "process {}: its thread {} still makes a call of an earlier tarn record, which was killed; try again later",
           process.number(), thread);
    }
    ::usleep(1000);
  }
}

}  // namespace tarn::command
#endif
