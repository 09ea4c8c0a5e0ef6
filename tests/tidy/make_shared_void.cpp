// check: tarn-make-shared
#include <memory>
#include <vector>

struct object {
  explicit object(int) {}
};
// Any object may be in it.
std::vector<std::weak_ptr<void>> cache;

void make() {
  // no edit: a weak_ptr could keep the memory of the object
  // site: 0
  std::shared_ptr<object> pointer(new object(2));
  cache.emplace_back(pointer);
}
