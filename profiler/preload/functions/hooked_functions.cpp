// Wraps the functions of the C library that make system calls. hooked_functions.S has those that only end a step
// (windows.hpp). This file has those that set signals: their arguments may have to be changed so that later calls can
// still be dispatched. For that their own calls are dispatched, and substitute.cpp changes the arguments.
#include <sched.h>
#include <signal.h>

#include <cerrno>
#include <cstdarg>

#include "profiler/preload/base/kernel_signals.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/lent_thread.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using namespace tarn::preload;

TARN_NEXT_FUNCTION(sigaction)
TARN_NEXT_FUNCTION(signal)
TARN_NEXT_FUNCTION(sigaltstack)

namespace {

// The function is variadic; the ABI passes words to it in the same way as to one that is not.
constinit next_library_function<int, int (*)(void*), void*, int, void*, void*, void*, void*> next_clone("clone",
                                                                                                        nullptr);
[[gnu::constructor(101)]] void find_clone() noexcept { next_clone.find(); }

struct hooked {
  void* function;
  const char* name;
};
extern "C" __attribute__((visibility("hidden"))) hooked tarn_hooked_begin[], tarn_hooked_end[];

// Answers for a function that the C library does not have.
long has_no_function() noexcept {
  errno = ENOSYS;
  return -1;
}

}  // namespace

extern "C" [[gnu::visibility("hidden"), gnu::used]] void tarn_find_hooked(hooked* entry) noexcept {
  void* const function = next_function(entry->name);
  entry->function = function != nullptr ? function : reinterpret_cast<void*>(has_no_function);
}

namespace {

[[gnu::constructor(101)]] void find_hooked() noexcept {
  for (hooked* entry = tarn_hooked_begin; entry != tarn_hooked_end; ++entry) tarn_find_hooked(entry);
}

}  // namespace

extern "C" {

TARN_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* old) noexcept {
  take_step();
  if (number != SIGSYS && (action == nullptr || (action->sa_mask.__val[0] & signal_bit(SIGSYS)) == 0)) {
    return next_sigaction()(number, action, old);
  }
  const dispatched_calls dispatched;
  return next_sigaction()(number, action, old);
}

TARN_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  take_step();
  if (number != SIGSYS) return next_signal()(number, handler);
  const dispatched_calls dispatched;
  return next_signal()(number, handler);
}

// A child with a stack of its own never returns here.
TARN_EXPORT int clone(int (*first)(void*), void* stack, int flags, void* argument, ...) noexcept {
  va_list list;
  va_start(list, argument);
  void* optional_arguments[3];
  for (void*& word : optional_arguments) word = va_arg(list, void*);
  va_end(list);
  take_step();
  constexpr int lends_thread = CLONE_VM | CLONE_VFORK;
  if ((flags & (lends_thread | CLONE_SETTLS)) != lends_thread)
    return next_clone()(first, stack, flags, argument, optional_arguments[0], optional_arguments[1],
                        optional_arguments[2]);
  const lending before = begin_lending();
  const int result =
      next_clone()(first, stack, flags, argument, optional_arguments[0], optional_arguments[1], optional_arguments[2]);
  end_lending(before);
  return result;
}

TARN_EXPORT int sigaltstack(const stack_t* new_stack, stack_t* old) noexcept {
  take_step();
  // The thread needs a record, as its end gives the replacement of its stack back.
  if (new_stack != nullptr && records_anything() && !is_lent()) const entry guard;
  const dispatched_calls dispatched;
  return next_sigaltstack()(new_stack, old);
}

}  // extern "C"
