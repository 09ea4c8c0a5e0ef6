// check: tarn-recycle -Wno-unused-macros
#include <cstdio>
#include <string>
// inserts: #include <tarn/recycle.hpp>
#include <utility>
#include <vector>

// Names that the edit writes, and that have another meaning here.
int kept_count;
#define kept_line other_line
#define assign(first, second) append(first, second)
#define COUNT_IT ++kept_count

namespace acme {
namespace tarn {
struct part {};
}  // namespace tarn
void print(const char* text) {
  // site: 0
  // proven: 'text_copy' with memory that the thread keeps
  // becomes: auto kept_text_copy = ::tarn::recycle<std::string>();
  // becomes: std::string& text_copy = *kept_text_copy;
  std::string text_copy;
  text_copy.append(text);
  std::puts(text_copy.c_str());
}
void of_a_macro(const char* text) {
  // site: 0
  // no edit: the function has the name 'kept_line' already
  std::string line;
  line.append(text);
  std::puts(line.c_str());
}
void in_a_macro(const char* text) {
  // site: 0
  // no edit: the function has the name 'kept_count' already
  std::string count;
  count.append(text);
  COUNT_IT;
  std::puts(count.c_str());
}
void of_a_container(std::size_t count) {
  // site: 0
  // no edit: a macro has the name 'assign'
  std::vector<int> numbers(count, 1);
  std::printf("%zu", numbers.size());
}
}  // namespace acme

// The compiler may run it.
auto sum_of = [](int count) {
  // site: 0
  // no edit: the compiler may run the lambda
  std::vector<int> numbers;
  for (int number = 0; number < count; ++number) numbers.push_back(number);
  return numbers.size();
};
static_assert(sum_of(3) == 3);

int main() {
  acme::print("text");
  acme::of_a_macro("text");
  acme::in_a_macro("text");
  acme::of_a_container(sum_of(2));
  return kept_count == 1 ? 0 : 1;
}
