// Computes with floating-point numbers in the program's threads.
#pragma once

#include <concepts>

namespace tarn::preload {

namespace detail {
// Keeps what needs the number behind this, and what gives it before this: the compiler does not know that arithmetic
// depends on the processor's control register.
template <class Number>
void pin(Number& number) noexcept {
#if defined(__x86_64__)
  if constexpr (std::floating_point<Number>) {
    asm volatile("" : "+x"(number));
    return;
  }
#elif defined(__aarch64__)
  if constexpr (std::floating_point<Number>) {
    asm volatile("" : "+w"(number));
    return;
  }
#endif
  if constexpr (std::integral<Number>) asm volatile("" : "+r"(number));
}

// Gives the thread the usual rounding, with all exceptions masked, and then its own state back, with its flags.
class usual_arithmetic {
 public:
#if defined(__x86_64__)
  usual_arithmetic() noexcept {
    constexpr unsigned usual = 0x1f80;
    asm volatile("stmxcsr %0" : "=m"(before_));
    asm volatile("ldmxcsr %0" : : "m"(usual));
  }
  ~usual_arithmetic() { asm volatile("ldmxcsr %0" : : "m"(before_)); }

 private:
  unsigned before_;
#elif defined(__aarch64__)
  usual_arithmetic() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(control_));
    asm volatile("mrs %0, fpsr" : "=r"(flags_));
    asm volatile("msr fpcr, %0" : : "r"(0UL));
  }
  ~usual_arithmetic() {
    asm volatile("msr fpcr, %0" : : "r"(control_));
    asm volatile("msr fpsr, %0" : : "r"(flags_));
  }

 private:
  unsigned long control_, flags_;
#else
  usual_arithmetic() noexcept {}
  ~usual_arithmetic() {}

 private:
#endif
 public:
  usual_arithmetic(const usual_arithmetic&) = delete;
  usual_arithmetic& operator=(const usual_arithmetic&) = delete;
};
}  // namespace detail

// Returns compute(numbers...). The program does not notice: it may trap floating-point exceptions, read their flags, or
// round in another way. All numbers that the computation depends on must be among `numbers`.
template <class Compute, class... Numbers>
auto compute_unseen(Compute compute, Numbers... numbers) noexcept {
  const detail::usual_arithmetic usual;
  (detail::pin(numbers), ...);
  auto result = compute(numbers...);
  detail::pin(result);
  return result;
}

}  // namespace tarn::preload
