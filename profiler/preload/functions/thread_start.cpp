// Wraps pthread_create() and thrd_create(): a new thread notes the limits of its stack before the program's function
// begins, and gets more of it where the program asked for little. Wraps pthread_setname_np(), too.
//
// A thread cannot ask for them later, in the middle of an allocation: pthread_getattr_np() holds the thread's lock
// while it allocates, so a hook of realloc() that calls it would wait for itself. This file is compiled with tail
// calls, so the program's function stays the outermost one of the thread.
#include <pthread.h>
#include <threads.h>

#include <cstring>

#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

TARN_NEXT_FUNCTION(pthread_create)
TARN_NEXT_FUNCTION(thrd_create)
TARN_NEXT_FUNCTION(pthread_setname_np)

namespace tarn::preload {
namespace {

// Holds the call that a new thread is to make. The thread that creates the new one hands it over.
struct beginning {
  void* routine;
  void* argument;
  std::size_t stack_bytes;
  beginning* next;  // links the unused ones
};

constinit lock keeping;
constinit beginning* unused = nullptr;

beginning* take_beginning() noexcept {
  {
    const holding guard(keeping);
    if (beginning* const beginning_found = unused) {
      unused = beginning_found->next;
      return beginning_found;
    }
  }
  return static_cast<beginning*>(take(sizeof(beginning)));
}

void give_back(beginning* returned) noexcept {
  const holding guard(keeping);
  returned->next = unused;
  unused = returned;
}

// The attributes that a thread is created with. The hooks and the handler of SIGSYS run on its stack, so a small stack
// grows by what they need at most. One in memory of the program's stays as it is.
//
// This takes the lock of the default attributes. It runs where the program calls pthread_create(), which takes it too.
class stack_choice {
 public:
  // thrd_create() takes no attributes, so that nothing can be chosen.
  stack_choice(const pthread_attr_t* attributes, bool can_choose) noexcept : choice_(attributes) {
    if (attributes == nullptr) {
      if (::pthread_attr_init(&copy_) != 0) return;
      ::pthread_attr_getstacksize(&copy_, &bytes_);
      ::pthread_attr_destroy(&copy_);
      if (!can_choose || bytes_ >= small || ::pthread_getattr_default_np(&copy_) != 0) return;
      is_initialised_ = true;
    } else {
      ::pthread_attr_getstacksize(attributes, &bytes_);
      if (bytes_ >= small || has_memory(*attributes)) return;
      std::memcpy(&copy_, attributes, sizeof copy_);  // it shares what the original refers to, and is not destroyed
    }
    if (::pthread_attr_setstacksize(&copy_, bytes_ + added) != 0) return;
    bytes_ += added;
    choice_ = &copy_;
  }
  stack_choice(const stack_choice&) = delete;
  stack_choice& operator=(const stack_choice&) = delete;
  ~stack_choice() {
    if (is_initialised_) ::pthread_attr_destroy(&copy_);
  }

  const pthread_attr_t* attributes() const noexcept { return choice_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t small = 256 << 10, added = 64 << 10;

  // Without memory of the program's, the C library has 0 for the end of the stack.
  static bool has_memory(const pthread_attr_t& attributes) noexcept {
    void* low = nullptr;
    std::size_t bytes = 0;
    return ::pthread_attr_getstack(&attributes, &low, &bytes) == 0 &&
           reinterpret_cast<std::uintptr_t>(low) + bytes != 0;
  }

  pthread_attr_t copy_;
  bool is_initialised_ = false;
  const pthread_attr_t* choice_;
  std::size_t bytes_ = 0;
};

// The C library keeps the thread's own data at the upper end of its stack, above all frames.
void note_stack(std::size_t bytes) noexcept {
  const auto high = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  const auto address = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (address < high && high - address < bytes) thread::note_begin({high - bytes, high});
}

// Runs as the new thread's first function.
template <class Routine>
auto begin_thread(void* start) noexcept(false) {
  auto* const record = static_cast<beginning*>(start);
  const beginning now = *record;
  give_back(record);
  note_stack(now.stack_bytes);
  take_first_step();
  return reinterpret_cast<Routine>(now.routine)(now.argument);
}

template <class Routine, class Create>
int create(Routine routine, void* argument, const pthread_attr_t* attributes, bool can_choose,
           Create create_thread) noexcept {
  take_step();
  beginning* const start = records_anything() ? take_beginning() : nullptr;
  if (start == nullptr) return create_thread(routine, argument, attributes);
  const stack_choice stack(attributes, can_choose);
  *start = {reinterpret_cast<void*>(routine), argument, stack.bytes(), nullptr};
  const int result = create_thread(Routine{begin_thread<Routine>}, start, stack.attributes());
  if (result != 0) give_back(start);  // no thread has taken it
  return result;
}

}  // namespace

void begin_thread_starts_anew() noexcept {
  keeping.begin_anew();
  unused = nullptr;
}

}  // namespace tarn::preload

using namespace tarn::preload;

extern "C" {

TARN_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                               void* argument) noexcept {
  return create(routine, argument, attributes, true,
                [&](void* (*first)(void*), void* start, const pthread_attr_t* new_attributes) {
                  return next_pthread_create()(thread, new_attributes, first, start);
                });
}

TARN_EXPORT int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  take_step();
  note_thread_name();
  return next_pthread_setname_np()(thread, name);
}

TARN_EXPORT int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  return create(routine, argument, nullptr, false, [&](thrd_start_t first, void* start, const pthread_attr_t*) {
    return next_thrd_create()(thread, first, start);
  });
}

}  // extern "C"
