// check: tarn-make-shared
#include <memory>
#include <vector>

namespace acme {
namespace std {
struct text {};
}  // namespace std
struct object {
  explicit object(int) {}
};
void make() {
  // proven: 'object'
  // becomes: ::std::shared_ptr<object> pointer(::std::make_shared<object>(2));
  ::std::shared_ptr<object> pointer(new object(2));
}
}  // namespace acme
