// Like stacks.c, for C++: exceptions, destructors, and template code in between.
#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

constexpr std::size_t base = 710000;

extern "C" [[gnu::noipa]] void stop(std::size_t bytes) {
  void* volatile block = ::operator new(bytes);
  ::operator delete(block);
}

namespace {

struct ends {
  std::size_t bytes;
  [[gnu::noipa]] ~ends() { stop(bytes); }
};

[[gnu::noipa]] void thrower(int depth) {
  const ends inner{base + 1};
  if (depth == 0) throw std::runtime_error("thrown");
}

struct shape {
  virtual ~shape() = default;
  virtual int area() { return 0; }
};
struct square : shape {
  [[gnu::noipa]] int area() override {
    stop(base + 2);
    return 4;
  }
};

[[gnu::noipa]] int sorted() {
  std::vector<int> numbers = {3, 1, 2};
  bool has_stopped = false;
  std::sort(numbers.begin(), numbers.end(), [&](int a, int b) {
    if (!has_stopped) stop(base + 3);
    has_stopped = true;
    return a < b;
  });
  return numbers.front();
}

}  // namespace

int main() {
  try {
    thrower(0);
  } catch (const std::runtime_error&) {
    stop(base + 4);
  }
  const std::unique_ptr<shape> shape_object = std::make_unique<square>();
  const std::function<int(int)> called = [&](int factor) { return factor * shape_object->area(); };
  return called(1) + sorted() == 5 ? 0 : 1;
}
