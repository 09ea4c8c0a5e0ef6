// Fibers of Boost.Context, whose stacks end in its own assembler: all allocate by the same functions.
#include <boost/context/fiber.hpp>
#include <string>

namespace {

[[gnu::noinline]] void serve(int request) {
  const std::string text(static_cast<std::size_t>(600 + request), 'x');
  asm volatile("" : : "r"(text.data()) : "memory");
}

}  // namespace

int main() {
  using boost::context::fiber;
  for (int number = 0; number < 100; ++number) {
    fiber worker([&](fiber&& caller) {
      for (int request = 0; request < 20; ++request) {
        serve(request);
        caller = std::move(caller).resume();
      }
      return std::move(caller);
    });
    while (worker) worker = std::move(worker).resume();
  }
}
