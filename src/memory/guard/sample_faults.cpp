// Reports misuse of sampled blocks, and detects accesses by the signal that they cause.
#include <csignal>
#include <cstdlib>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/fault.hpp"
#include "base/site.hpp"
#include "base/text.hpp"
#include "memory/guard/ended_heaps.hpp"
#include "memory/guard/samples.hpp"
#include "platform/platform.hpp"

namespace tarn::guard::samples {
namespace {

namespace next_step = base::next_step;

constexpr int standard_error = 2;
using line = base::text_buffer<2048>;

void append_block(base::text& message, const slot_record& slot) noexcept {
  message.append("the block of ").decimal(slot.bytes).append(" bytes at ").pointer(slot.user);
}
void append_call(base::text& message, const char* entry, const void* pointer) noexcept {
  message.append("tarn: ").append(entry).append("(").pointer(pointer).append("): ");
}

void write_stack(const char* event, std::uint32_t thread, const base::call_stack& stack) noexcept {
  line heading;
  heading.append("tarn:   ").append(event).append(" by thread ").decimal(thread).append(" at\n");
  heading.write_to(standard_error);
  stack.write_to(standard_error);
}

// Writes the message, a second line that tells the reader what to do next, and the stacks. Ends the program.
[[noreturn]] void die(base::text& message, const slot_record& slot, const char* advice) noexcept {
  message.append("\ntarn: ").append(advice).append('\n').write_to(standard_error);
  if (slot.state.load(std::memory_order_acquire) == slot_state::freed) {
    write_stack("freed", slot.freed_by, slot.freed_at);
  }
  write_stack("allocated", slot.allocated_by, slot.allocated_at);
  std::abort();
}

// ------------------------------------------------------------------ signal

constinit std::atomic<bool> is_installed{false};
constinit struct sigaction earlier {};

#if defined(__x86_64__)
constexpr bool knows_kind = true;
bool is_write(const ucontext_t& context) noexcept { return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0; }
const void* instruction_of(const ucontext_t& context) noexcept {
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
}
#elif defined(__aarch64__)
constexpr bool knows_kind = false;
bool is_write(const ucontext_t&) noexcept { return false; }
const void* instruction_of(const ucontext_t& context) noexcept {
  return reinterpret_cast<const void*>(context.uc_mcontext.pc);
}
#else
constexpr bool knows_kind = false;
bool is_write(const ucontext_t&) noexcept { return false; }
const void* instruction_of(const ucontext_t&) noexcept { return nullptr; }
#endif

// Acts as the program's earlier handler, or the default action, would have acted.
void pass_on(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction before = earlier;
  if ((before.sa_flags & SA_SIGINFO) != 0 || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)) {
    if ((static_cast<unsigned>(before.sa_flags) & SA_RESETHAND) != 0) {
      earlier = {};
    }
    return (before.sa_flags & SA_SIGINFO) != 0 ? before.sa_sigaction(number, info, context) : before.sa_handler(number);
  }
  const bool was_sent = info->si_code <= 0;
  if (was_sent && earlier.sa_handler == SIG_IGN) return;
  // An access faults again when this returns, now without a handler. A signal that was sent is not repeated, so it is
  // sent again.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(number, &plain, nullptr);
  if (was_sent) syscall(SYS_rt_tgsigqueueinfo, getpid(), platform::thread_number(), number, info);
}

void handle(int number, siginfo_t* info, void* context) noexcept {
  if (info->si_code > 0 && contain(info->si_addr)) {
    if (const slot_record* const nearest_record = record_near(info->si_addr)) {
      const auto& state = *static_cast<const ucontext_t*>(context);
      fault_sampled_access(*nearest_record, info->si_addr, is_write(state), knows_kind, instruction_of(state));
    }
  }
  if (ended_heaps::are_kept && info->si_code > 0) {
    const auto& state = *static_cast<const ucontext_t*>(context);
    ended_heaps::fault_if_ended(info->si_addr, is_write(state), knows_kind, instruction_of(state));
  }
  pass_on(number, info, context);
}

}  // namespace

void install_handler() noexcept {
  if (is_installed.load(std::memory_order_relaxed) || is_installed.exchange(true, std::memory_order_relaxed)) return;
  sigaction(SIGSEGV, nullptr, &earlier);
  struct sigaction ours = earlier;  // keeps the mask and the stack that an earlier handler asked for
  const bool is_first = (earlier.sa_flags & SA_SIGINFO) == 0 && earlier.sa_handler == SIG_DFL;
  ours.sa_flags = (earlier.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO | (is_first ? SA_ONSTACK : 0);
  ours.sa_sigaction = handle;
  sigaction(SIGSEGV, &ours, nullptr);
}

void fault_sampled_access(const slot_record& slot, const void* address, bool is_write, bool is_known,
                          const void* instruction) noexcept {
  const std::ptrdiff_t offset = static_cast<const char*>(address) - slot.user;
  line message;
  const bool is_live = slot.state.load(std::memory_order_acquire) == slot_state::live;
  if (!is_live) {
    message.append("tarn: use after free: ");
  } else {
    message.append(offset < 0 ? "tarn: underrun: " : "tarn: overrun: ");
  }
  message.append("byte ").decimal(static_cast<std::uint64_t>(offset < 0 ? -offset : offset));
  append_block(message.append(offset < 0 ? " before " : " of "), slot);
  message.append(!is_known ? " is accessed" : is_write ? " is written" : " is read");
  // append_site shows the instruction before its argument, which is mostly a return address.
  base::append_site(message.append(" at "), static_cast<const char*>(instruction) + 1);
  message.append(" by thread ").decimal(platform::thread_number());
  die(message, slot,
      !is_live     ? next_step::end_the_use
      : offset < 0 ? "find the index or pointer that lies before the start of the block"
                   : "find the index or pointer that lies past the end of the block, or a size that is too small");
}

void fault_sampled_double_free(const char* entry, const slot_record& slot) noexcept {
  line message;
  append_call(message, entry, slot.user);
  append_block(message.append("double free of "), slot);
  die(message, slot, next_step::free_once);
}

void fault_sampled_use(const char* entry, const slot_record& slot) noexcept {
  line message;
  append_call(message, entry, slot.user);
  append_block(message.append("use of "), slot);
  message.append(" after it was freed");
  die(message, slot, next_step::end_the_use);
}

void fault_sampled_misaligned(const char* entry, const slot_record& slot, const void* pointer) noexcept {
  const std::ptrdiff_t offset = static_cast<const char*>(pointer) - slot.user;
  line message;
  append_call(message, entry, pointer);
  message.append("misaligned pointer: ").decimal(static_cast<std::uint64_t>(offset < 0 ? -offset : offset));
  append_block(message.append(offset < 0 ? " bytes before " : " bytes into "), slot);
  die(message, slot, next_step::free_the_start);
}

void fault_sampled_damage(const char* entry, const slot_record& slot, std::ptrdiff_t first,
                          std::ptrdiff_t last) noexcept {
  line message;
  append_call(message, entry, slot.user);
  if (first < 0) {
    message.append("underrun: ").decimal(static_cast<std::uint64_t>(-first)).append(" or more bytes written before ");
    append_block(message, slot);
  } else {
    message.append("overrun: ").decimal(static_cast<std::uint64_t>(last) - slot.bytes);
    append_block(message.append(" bytes written past the end of "), slot);
    message.append("; the first is byte ").decimal(static_cast<std::uint64_t>(first));
  }
  die(message, slot, first < 0 ? next_step::mend_writer_before : next_step::mend_the_writer);
}

}  // namespace tarn::guard::samples
