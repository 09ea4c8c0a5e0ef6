// The new handler is called until it gives up; what it throws passes through every throwing form.
//@ broken-by handler_ignored
#include <new>

#include "../check.h"

static int calls = 0;
struct gave_up : std::bad_alloc {};

static void handler() {
  if (++calls % 3 == 0) throw gave_up{};
}

template <class Function>
static void handled(Function allocate) {
  calls = 0;
  try {
    allocate();
    CHECK(false);
  } catch (const gave_up&) {
    CHECK(calls == 3);
  }
}

int main() {
  volatile std::size_t absurd = static_cast<std::size_t>(PTRDIFF_MAX) + 1;
  CHECK(std::set_new_handler(handler) == nullptr);
  handled([&] { return ::operator new(absurd); });
  handled([&] { return ::operator new[](absurd); });
  handled([&] { return ::operator new(absurd, std::align_val_t{64}); });
  handled([&] { return ::operator new[](absurd, std::align_val_t{64}); });
  calls = 0;
  CHECK(::operator new(absurd, std::nothrow) == nullptr&& calls == 3);
  CHECK(::operator new[](absurd, std::nothrow) == nullptr&& calls == 6);
  CHECK(::operator new(absurd, std::align_val_t{64}, std::nothrow) == nullptr&& calls == 9);
  CHECK(std::set_new_handler(nullptr) == handler);
}
