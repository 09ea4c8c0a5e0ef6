// check: tarn-make-shared
#include <memory>

struct object {
  object() {}
  explicit object(int) {}
  static auto make() {
    // no edit: the constructor is not public
    // site: 0
    return std::shared_ptr<object>(new object(nullptr));
  }

 private:
  explicit object(std::nullptr_t) {}
};
struct observed {
  observed() {}
};

void objects() {
  // proven: 'object'
  // becomes: std::shared_ptr<object> first(std::make_shared<object>(1));
  // site: 64
  std::shared_ptr<object> first(new object(1));
  std::shared_ptr<object> second(new object(2));
  // no edit: a weak_ptr could keep the memory of the object
  // site: 0
  std::shared_ptr<observed> third(new observed);
  std::weak_ptr<observed> weak(third);
  // no edit: the call of reset() is part of an expression
  // site: 0
  first ? first.reset(new object) : void();
  // no edit: the pointer has its own deleter
  // site: 0
  std::shared_ptr<object> deleted(new object(1), [](object* pointer) { delete pointer; });
  // no edit: the pointer has its own deleter
  // site: 0
  deleted.reset(new object(2), std::default_delete<object>());
}
