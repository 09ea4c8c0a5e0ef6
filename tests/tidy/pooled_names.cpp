// check: tarn-pooled
#include <cstdio>
#include <memory>
// inserts: #include <tarn/pooled.hpp>
#include <utility>

namespace acme {
namespace tarn {
struct part {};
}  // namespace tarn
// proven: 'node'
// becomes: struct node : public ::tarn::pooled<node> {
struct node {
  node() {}
  virtual ~node() {}
};
}  // namespace acme
int make(int number) { return number + 1; }
int give(int number) { return number + 2; }
struct leaf : acme::node {
  int number() { return make(3); }
  int second_number() { return give(3); }
};

int main() {
  // site: 0
  auto object = std::make_unique<acme::node>();
  leaf last;
  std::printf("%d %d\n", last.number(), last.second_number());
}
