// A new handler that makes memory available lets the same request succeed.
//@ broken-by handler_ignored
#include <sys/resource.h>

#include <new>
#include <vector>

#include "../check.h"

static int calls = 0;

static void handler() {
  ++calls;
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  std::set_new_handler(nullptr);
}

int main() {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = 200u << 20;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  std::set_new_handler(handler);
  char* p = static_cast<char*>(::operator new(300u << 20));
  CHECK(calls == 1 && p != nullptr);
  p[0] = p[(300u << 20) - 1] = 1;
  ::operator delete(p);
}
