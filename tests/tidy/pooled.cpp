// check: tarn-pooled
#include <cstdio>
#include <memory>
#include <string>
// inserts: #include <tarn/pooled.hpp>
#include <utility>
#include <vector>

struct shape {
  virtual ~shape() = default;
  virtual int area() const = 0;
};
// proven: 'order' is made on the heap of the thread
// becomes: class order : public tarn::pooled<order> {
class order {
 public:
  explicit order(int initial) : number(initial) {}
  ~order() { std::printf("end %d\n", number); }
  int number;

 private:
  std::string text_ = "order";
};
// proven: 'square'
// becomes: class square final : public shape, public tarn::pooled<square> {
class square final : public shape {
 public:
  explicit square(int side) : side_(side) {}
  int area() const override { return side_ * side_; }

 private:
  int side_;
};
namespace parts {
// proven: 'leaf'
// becomes: struct leaf final : public tarn::pooled<leaf> {
struct leaf final {
  leaf() {}
  std::unique_ptr<leaf> next;
};
}  // namespace parts
struct outer {
  // proven: 'inner'
  // becomes: struct inner : public tarn::pooled<inner> {
  struct inner {
    inner() {}
    ~inner() {}
    int number = 3;
  };
};
// Nothing makes an object of this base, and each unit with the class has it, so that it needs no operator of its own.
struct entity {
  explicit entity(int kind_) : kind(kind_) {}
  virtual ~entity() = default;
  int kind;
};
// proven: 'whole'
// becomes: struct whole : public entity, public tarn::pooled<whole> {
struct whole : public entity {
  explicit whole(int value_) : entity(1), value(value_) {}
  int value;
};
// proven: 'half'
// becomes: struct half : public entity, public tarn::pooled<half> {
struct half : public entity {
  explicit half(int value_) : entity(2), value(value_ / 2.0) {}
  double value;
};
struct thrown {
  thrown() {}
};
// proven: 'fragile'
// becomes: struct fragile : public tarn::pooled<fragile> {
struct fragile {
  explicit fragile(bool must_throw) {
    if (must_throw) throw thrown();
  }
  ~fragile() {}
};
namespace {
// No other unit can delete an object of a class without linkage.
// proven: 'hidden'
// becomes: struct hidden : public tarn::pooled<hidden> {
struct hidden {
  explicit hidden(int value_) : value(value_) {}
  int value;
};
}  // namespace

template <class Value>
std::unique_ptr<Value> new_object(int number) {
  // site: 0
  return std::make_unique<Value>(number);
}

template <class Entity>
std::unique_ptr<entity> new_entity(int number) {
  // site: 0
  return std::unique_ptr<entity>(new Entity(number));
}

int main() {
  static_assert(sizeof(int) == 4);
  for (int round = 0; round < 3; ++round) {
    // site: 0
    std::unique_ptr<order> first(new order(round));
    const auto two = new_object<order>(round + 10);
    // site: 0
    std::unique_ptr<shape> three(new square(round));
    // site: 0
    auto* const list = new outer::inner[4];
    // site: 0
    auto four = std::make_unique<parts::leaf>();
    four->next = std::make_unique<parts::leaf>();
    try {
      // site: 0
      delete new fragile(round == 1);
    } catch (const thrown&) {
      std::printf("thrown\n");
    }
    // site: 0
    auto* const secret = new hidden(round);
    std::printf("%d\n", secret->value);
    delete secret;
    std::printf("%d %d\n", new_entity<whole>(round)->kind, new_entity<half>(round)->kind);
    const auto in_lambda = [round] {
      auto* const five = new order(round + 20);
      delete five;
    };
    in_lambda();
    // Copies, values and elements of containers are as they were.
    std::vector<order> values;
    values.reserve(2);
    values.emplace_back(round + 30);
    std::printf("%d %d %d %d\n", first->number, two->number, three->area(), list[3].number);
    delete[] list;
  }
}
