// new and delete expressions: arrays with cookies, over-aligned and derived classes, exceptions.
//@ broken-by memalign_weak malloc_overlap
#include <memory>
#include <stdexcept>
#include <string>

#include "../check.h"

static int alive = 0;

struct base {
  virtual ~base() { --alive; }
  base() { ++alive; }
};
struct derived : base {
  std::string text = std::string(200, 'd');
};
struct alignas(256) wide : base {
  wide() { CHECK(is_aligned(this, 256)); }
  char bytes[300] = {};
};
struct fails {
  std::string text = std::string(100, 'f');
  fails() {
    if (++constructed % 5 == 0) throw std::runtime_error("fifth");
  }
  static inline int constructed = 0;
};

int main() {
  for (int count = 0; count < 300; ++count) {
    std::unique_ptr<base> one(new derived);
    std::unique_ptr<base> over(new wide);
    std::unique_ptr<derived[]> many(new derived[count]);
    std::unique_ptr<wide[]> wides(new wide[count % 20]);
    CHECK(alive == 2 + count + count % 20);
    try {
      std::unique_ptr<fails[]> none(new fails[5]);
      CHECK(false);
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "fifth");
    }
  }
  CHECK(alive == 0);
}
