// Finds the C library's functions in a dynamic program, and wraps those that static programs keep.
#include "memory/drop_in/next_calls.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <type_traits>

#include "memory/drop_in/fast.hpp"
#include "memory/drop_in/program_operators.hpp"
#include "memory/thread/idle_purge.hpp"

namespace {

using namespace tarn;

// The function that the program would call if this library were not loaded. It is looked up when the library is loaded,
// because dlsym() is not safe in a signal handler; a call from before that looks it up itself.
class next_function {
 public:
  explicit constexpr next_function(const char* name) noexcept : name_(name) {}

  // relaxed: the function is older than all threads.
  void find() noexcept { address_.store(::dlsym(RTLD_NEXT, name_), std::memory_order_relaxed); }

  template <class Pointer>
  Pointer resolve() noexcept {
    if (address_.load(std::memory_order_relaxed) == nullptr) [[unlikely]] {
      find();
    }
    return reinterpret_cast<Pointer>(address_.load(std::memory_order_relaxed));
  }

 private:
  const char* name_;
  std::atomic<void*> address_{nullptr};
};

int is_missing() noexcept {
  errno = ENOSYS;
  return -1;
}

#define TARN_DEFINE(name, parameters, arguments) constinit next_function name##_function(#name);
TARN_IDENTITY_CALLS(TARN_DEFINE)
TARN_GROUP_CALLS(TARN_DEFINE)
#undef TARN_DEFINE
constinit next_function prctl_function("prctl");
constinit next_function fork_function("_Fork");

[[gnu::constructor(102)]] void find_all() noexcept {
#define TARN_FIND(name, parameters, arguments) name##_function.find();
  TARN_IDENTITY_CALLS(TARN_FIND)
  TARN_GROUP_CALLS(TARN_FIND)
#undef TARN_FIND
  prctl_function.find();
  fork_function.find();
}

}  // namespace

namespace tarn::drop_in::next {

// NOLINTBEGIN(bugprone-macro-parentheses): parameters and arguments bring theirs
#define TARN_CALL(name, parameters, arguments)                           \
  int name parameters {                                                  \
    auto* const function = name##_function.resolve<int(*) parameters>(); \
    return function == nullptr ? is_missing() : function arguments;      \
  }
// NOLINTEND(bugprone-macro-parentheses)
TARN_IDENTITY_CALLS(TARN_CALL)
#undef TARN_CALL

int prctl(int option, long second, long third, long fourth, long fifth) {
  auto* const function = prctl_function.resolve<int (*)(int, ...)>();
  return function == nullptr ? is_missing() : function(option, second, third, fourth, fifth);
}

}  // namespace tarn::drop_in::next

namespace tarn::drop_in {

operator_set find_program_operators(const operator_set& replaceable) noexcept {
  // A library that is loaded before this one and has the form which hardly a program replaces has all of them: another
  // malloc, or a recorder. Then nobody calls the drop-in's, except such a library itself.
  void (*const seldom_replaced)(void*, std::size_t, std::align_val_t) = &::operator delete[];
  if (::dlsym(RTLD_DEFAULT, "_ZdaPvmSt11align_val_t") != reinterpret_cast<void*>(seldom_replaced)) return {};
  operator_set operators = replaceable;
  bool is_any_replaced = false;
  const auto find = [&](auto& function, const char* name) {
    void* const address = ::dlsym(RTLD_DEFAULT, name);
    if (address == nullptr || address == reinterpret_cast<void*>(function)) return;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    is_any_replaced = true;
  };
  find(operators.make, "_Znwm");
  find(operators.make_array, "_Znam");
  find(operators.make_aligned, "_ZnwmSt11align_val_t");
  find(operators.make_aligned_array, "_ZnamSt11align_val_t");
  find(operators.drop, "_ZdlPv");
  find(operators.drop_array, "_ZdaPv");
  find(operators.drop_aligned, "_ZdlPvSt11align_val_t");
  find(operators.drop_aligned_array, "_ZdaPvSt11align_val_t");
  return is_any_replaced ? operators : operator_set();
}

}  // namespace tarn::drop_in

extern "C" {

// It calls no handlers of pthread_atfork. The child of a program with one thread may use malloc all the same, as with
// the C library, unless the helper was in the middle of a visit. C libraries before glibc 2.34 have no such function.
TARN_EXPORT pid_t _Fork() TARN_LIBC_NOEXCEPT {
  auto* const function = fork_function.resolve<pid_t (*)()>();
  return function == nullptr ? is_missing() : threads::fork_beside_helper(function);
}

TARN_EXPORT int setgroups(size_t count, const gid_t* groups) TARN_LIBC_NOEXCEPT {
  const threads::helper_pause pause;
  auto* const function = setgroups_function.resolve<int (*)(size_t, const gid_t*)>();
  return function == nullptr ? is_missing() : function(count, groups);
}

// The function reads files or asks servers, and the thread may be cancelled in it. A pause around it would then never
// end, so the pause comes after it and ends a helper that has the old groups.
TARN_EXPORT int initgroups(const char* user, gid_t group) {
  auto* const function = initgroups_function.resolve<int (*)(const char*, gid_t)>();
  const int result = function == nullptr ? is_missing() : function(user, group);
  const threads::helper_pause helper_with_the_old_groups;
  return result;
}

}  // extern "C"
