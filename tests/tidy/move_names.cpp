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
