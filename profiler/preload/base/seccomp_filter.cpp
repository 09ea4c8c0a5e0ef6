#include "profiler/preload/base/seccomp_filter.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cstring>

#include "profiler/preload/base/readable.hpp"

namespace tarn::preload {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t own_machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_machine = AUDIT_ARCH_AARCH64;
#endif

bool is_readable_array(std::uintptr_t start, std::size_t bytes) noexcept {
  constexpr std::uintptr_t word = 8, page = 4096;
  if (start == 0) return false;
  for (std::uintptr_t index = start & ~(word - 1); index < start + bytes; index = (index / page + 1) * page) {
    if (!is_word_readable(index)) return false;
  }
  return is_word_readable((start + bytes - 1) & ~(word - 1));
}

std::uint32_t calculated(std::uint16_t code, std::uint32_t a, std::uint32_t operand) noexcept {
  switch (BPF_OP(code)) {
    case BPF_ADD: return a + operand;
    case BPF_SUB: return a - operand;
    case BPF_MUL: return a * operand;
    case BPF_DIV: return operand == 0 ? 0 : a / operand;
    case BPF_AND: return a & operand;
    case BPF_OR: return a | operand;
    case BPF_XOR: return a ^ operand;
    case BPF_LSH: return operand < 32 ? a << operand : 0;
    case BPF_RSH: return operand < 32 ? a >> operand : 0;
    default: return -a;
  }
}
bool is_true(std::uint16_t code, std::uint32_t a, std::uint32_t operand) noexcept {
  switch (BPF_OP(code)) {
    case BPF_JEQ: return a == operand;
    case BPF_JGT: return a > operand;
    case BPF_JGE: return a >= operand;
    default: return (a & operand) != 0;  // BPF_JSET
  }
}

// Runs the filter, a program of classic BPF, on the words of `call` and returns its result. The filter ends, as its
// jumps go forwards only.
std::uint32_t run(const sock_filter* code, std::size_t count, const seccomp_data& call) noexcept {
  std::uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {};
  for (std::size_t index = 0; index < count; ++index) {
    const sock_filter& now = code[index];
    const std::uint32_t operand = BPF_SRC(now.code) == BPF_X ? x : now.k;
    const bool is_in_memory = now.k < BPF_MEMWORDS;
    switch (BPF_CLASS(now.code)) {
      case BPF_LD:
      case BPF_LDX: {
        std::uint32_t value = now.k;  // BPF_IMM
        if (BPF_MODE(now.code) == BPF_ABS && now.k <= sizeof call - sizeof value) {
          std::memcpy(&value, reinterpret_cast<const char*>(&call) + now.k, sizeof value);
        } else if (BPF_MODE(now.code) == BPF_MEM && is_in_memory) {
          value = memory[now.k];
        } else if (BPF_MODE(now.code) == BPF_LEN) {
          value = sizeof call;
        } else if (BPF_MODE(now.code) != BPF_IMM) {
          return SECCOMP_RET_KILL_PROCESS;
        }
        (BPF_CLASS(now.code) == BPF_LD ? a : x) = value;
        break;
      }
      case BPF_ST:
      case BPF_STX:
        if (is_in_memory) memory[now.k] = BPF_CLASS(now.code) == BPF_ST ? a : x;
        break;
      case BPF_ALU: a = calculated(now.code, a, operand); break;
      case BPF_JMP:
        if (BPF_OP(now.code) == BPF_JA) {
          index += now.k;
        } else {
          index += is_true(now.code, a, operand) ? now.jt : now.jf;
        }
        break;
      case BPF_RET: return BPF_RVAL(now.code) == BPF_A ? a : now.k;
      default: (BPF_MISCOP(now.code) == BPF_TAX ? x : a) = BPF_MISCOP(now.code) == BPF_TAX ? a : x; break;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

}  // namespace

bool filter_allows(long address, std::initializer_list<tested_call> calls) noexcept {
  if (!is_readable_array(static_cast<std::uintptr_t>(address), sizeof(sock_fprog))) return false;
  const sock_fprog program = *reinterpret_cast<const sock_fprog*>(address);
  if (!is_readable_array(reinterpret_cast<std::uintptr_t>(program.filter), program.len * sizeof(sock_filter)))
    return false;
  return std::all_of(calls.begin(), calls.end(), [&](const tested_call& question) {
    const seccomp_data call{static_cast<int>(question.number), own_machine, 0, {question.first_argument}};
    const std::uint32_t action = run(program.filter, program.len, call) & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
  });
}

}  // namespace tarn::preload
