// Replaces the two operators that most programs replace, with a head before each block, and uses all forms of new and
// delete. The C++ library's other operators call these two. Ends with 1 where a block goes to a delete of another kind.
//
// With "wait" as its argument, it does so again and again until its standard input ends.
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {
struct alignas(std::max_align_t) head {
  std::size_t mark;
};
constexpr std::size_t own_mark = 4711;

bool has_input_ended() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  char byte;
  return ::poll(&input, 1, 1) != 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
}
}  // namespace

void* operator new(std::size_t bytes) {
  auto* const block = static_cast<head*>(std::malloc(sizeof(head) + bytes));
  if (block == nullptr) throw std::bad_alloc();
  block->mark = own_mark;
  return block + 1;
}
void operator delete(void* address) noexcept {
  if (address == nullptr) return;
  auto* const block = static_cast<head*>(address) - 1;
  if (block->mark != own_mark) std::_Exit(1);
  block->mark = 0;
  std::free(block);
}

int main(int count, char** arguments) {
  const bool is_repeating = count > 1 && std::string_view(arguments[1]) == "wait";
  if (is_repeating && ::write(STDOUT_FILENO, "ready\n", 6) != 6) return 2;
  do {
    for (int round = 0; round < 10'000; ++round) {
      delete new int;
      delete[] new int[10];
      delete new (std::nothrow) int;
      delete[] new (std::nothrow) int[10];
      ::operator delete(::operator new(10), std::nothrow);
      ::operator delete[](::operator new[](10), std::nothrow);
      ::operator delete(::operator new(10), std::size_t{10});
      ::operator delete[](::operator new[](10), std::size_t{10});
    }
  } while (is_repeating && !has_input_ended());
}
