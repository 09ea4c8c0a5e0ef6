// check: tarn-move
#include <string>
// inserts: #include <utility>
#include <vector>

namespace acme {
namespace std {
struct text {};
}  // namespace std
::std::vector<::std::string> results;
void keep(const ::std::string& text) {
  ::std::string copy(text);
  copy += "end";
  // proven: 'copy' is used here for the last time
  // becomes: results.push_back(::std::move(copy));
  // site: 0
  results.push_back(copy);
}
}  // namespace acme

const std::string* remembered;
std::size_t length_sum;
std::size_t add_length() { return length_sum += remembered->size(); }
void remember(const std::string& text) { remembered = &text; }
struct measured_object {
  int number;
  std::size_t length = add_length();
};
void beside_a_default_value(std::vector<std::string>& list) {
  std::string text = "text";
  remember(text);
  // review: 'text' is used here for the last time
  // becomes: list.push_back(::std::move(text));
  // site: 0
  list.push_back(text);
  measured_object object(1);
  length_sum += object.length;
}
