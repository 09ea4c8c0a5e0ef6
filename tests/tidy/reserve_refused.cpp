// check: tarn-reserve -Wno-unused-variable
#include <climits>
#include <istream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

// Edits that code elsewhere could tell from the loop as it is.
using numbers = std::vector<int>;
struct block {
  char bytes[4096];
};
block next();
block next_or_stop() noexcept;
int* limit;

void a_constant_that_input_does_not_reach() {
  std::vector<block> blocks;
  // review: reserve(INT_MAX)
  // inserts: blocks.reserve(INT_MAX);
  for (int i = 0; i < INT_MAX; ++i) blocks.push_back(next());
}
void a_small_constant() {
  std::vector<block> blocks;
  // proven: reserve(8)
  // inserts: blocks.reserve(8);
  for (int i = 0; i < 8; ++i) blocks.push_back(next());
}
void a_count_that_another_name_reaches() {
  std::vector<block> blocks;
  int count = INT_MAX;
  limit = &count;
  for (int i = 0; i < count; ++i) blocks.push_back(next_or_stop());
}

void a_count_of_the_input(std::istream& input) {
  numbers values;
  int count = 0;
  input >> count;
  // proven: reserve(count)
  // inserts: if (count > 0) values.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values.push_back(i);
}

struct copied_loudly {
  explicit copied_loudly(int first) : number(first) {}
  copied_loudly(const copied_loudly& source);
  int number;
};
std::vector<copied_loudly> elements_that_count_their_copies(const numbers& values) {
  std::vector<copied_loudly> list;
  // review: reserve(values.size())
  // inserts: list.reserve(values.size());
  for (int value : values) list.emplace_back(value);
  return list;
}
struct ended_loudly {
  explicit ended_loudly(int first) : number(first) {}
  ~ended_loudly();
  int number;
};
struct loud_pair {
  std::pair<ended_loudly, int> parts;
};
void parts_that_show_their_end(const numbers& values, std::vector<loud_pair>& result) {
  std::vector<loud_pair> list;
  // review: reserve(values.size())
  // inserts: list.reserve(values.size());
  for (int value : values) list.push_back({{ended_loudly(value), 1}});
  result = list;
}
void pointers_that_only_move(const numbers& values, std::vector<std::unique_ptr<ended_loudly>>& result) {
  std::vector<std::unique_ptr<ended_loudly>> list;
  // proven: reserve(values.size())
  // inserts: list.reserve(values.size());
  for (int value : values) list.push_back(std::make_unique<ended_loudly>(value));
  result = std::move(list);
}

template <class T>
struct limited {
  using value_type = T;
  limited() = default;
  template <class U>
  explicit limited(const limited<U>&) {}
  T* allocate(std::size_t n) {
    if (n > 4) throw std::bad_alloc();
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
  bool operator==(const limited&) const { return true; }
};
void an_allocator_of_the_program(const numbers& values) {
  std::vector<int, limited<int>> list;
  // review: reserve(values.size())
  // inserts: list.reserve(values.size());
  for (int value : values) list.push_back(value);
}

struct ring {
  explicit ring(const std::vector<long>& values) {
    // review: reserve(values.size())
    // inserts: values_.reserve(values.size());
    for (long value : values) values_.push_back(value);
  }
  bool is_full() const { return values_.size() == values_.capacity(); }
  std::vector<long> values_;
};

struct filled_by_another_member {
  numbers values;
  int* first = nullptr;
  int count = prepare();
  int prepare() {
    values.reserve(7);
    values.push_back(1);
    first = &values[0];
    return 1;
  }
  explicit filled_by_another_member(const numbers& source) {
    for (int value : source) {
      values.push_back(value);
      if (values.size() == 5) *first = 9;
    }
  }
};
