// check: tarn-pooled
#include <cstdio>
#include <memory>

// A template that asks a class for its operators does something else once the class has them.
template <class Object>
constexpr bool has_own_memory = requires { Object::operator new(1); };

struct node {
  node() {}
  virtual ~node() {}
};

int main() {
  // site: 0
  // no edit: a template asks for the operators of a class
  auto object = std::make_unique<node>();
  std::printf("%d\n", has_own_memory<node>);
}
