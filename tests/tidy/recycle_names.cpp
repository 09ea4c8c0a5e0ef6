// check: tarn-recycle -Wno-unused-macros
#include <cstdio>
#include <string>
// inserts: #include <tarn/recycle.hpp>
#include <utility>

// Names that the edit writes, and that have another meaning here.
int kept_count;
#define kept_line other_line
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
}  // namespace acme

int main() {
  acme::print("text");
  acme::of_a_macro("text");
  acme::in_a_macro("text");
  return kept_count == 1 ? 0 : 1;
}
