#include "profiler/format/seccomp_filter.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cstring>

namespace tarn::format {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t own_machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_machine = AUDIT_ARCH_AARCH64;
#endif

std::uint32_t calculate(std::uint16_t code, std::uint32_t a, std::uint32_t operand) noexcept {
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
      case BPF_ALU: a = calculate(now.code, a, operand); break;
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

bool allows(const sock_filter* code, std::size_t count, const tested_call& tested) noexcept {
  const seccomp_data call{static_cast<int>(tested.number), own_machine, 0, {tested.first_argument}};
  const std::uint32_t action = run(code, count, call) & SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

}  // namespace tarn::format
