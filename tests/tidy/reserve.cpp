// check: tarn-reserve -Wno-unknown-pragmas
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using numbers = std::vector<int>;
int parse(const std::string& text);
int next(int value) noexcept { return value + 1; }
void use(const numbers& values);
void take(numbers& values);
constexpr int limit = 100;

namespace proven {

numbers copy_of_a_parameter(const std::vector<std::string>& texts) {
  numbers result;
  // proven: 'result' grows in this loop, one allocation instead of many: reserve(texts.size())
  // inserts: result.reserve(texts.size());
  for (const std::string& text : texts) result.push_back(parse(text));
  return result;
}

// Code outside of the block around the loop does not matter.
numbers configured_elsewhere(const numbers& values) {
#ifdef NEVER
  next(1);
#endif
  if (!values.empty()) {
    numbers result;
    // proven: reserve(values.size())
    // inserts: result.reserve(values.size());
    for (int value : values) result.push_back(value);
    return result;
  }
  return {};
}

// Each kind of container that knows its size is a bound.
void kinds(const std::list<int>& list, const std::map<int, int>& map, std::span<const int> span, std::string_view view,
           const std::array<int, 8>& array) {
  numbers a;
  // proven: reserve(list.size())
  // inserts: a.reserve(list.size());
  for (int value : list) a.push_back(value);
  numbers b;
  // proven: reserve(map.size())
  // inserts: b.reserve(map.size());
  for (const auto& [key, value] : map) b.push_back(key + value);
  numbers c;
  // proven: reserve(span.size())
  // inserts: c.reserve(span.size());
  for (int value : span) c.emplace_back(value);
  numbers d;
  // proven: reserve(view.size())
  // inserts: d.reserve(view.size());
  for (char letter : view) d.push_back(letter);
  numbers e;
  // proven: reserve(array.size())
  // inserts: e.reserve(array.size());
  for (int value : array) e.push_back(value);
  const int plain[] = {1, 2, 3, 4, 5, 6};
  numbers f;
  // proven: reserve(std::size(plain))
  // inserts: f.reserve(std::size(plain));
  for (int value : plain) f.push_back(value);
}

numbers counted_up(unsigned count) {
  numbers result;
  // proven: reserve(count)
  // inserts: result.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    result.push_back(static_cast<int>(i));
  }
  return result;
}

numbers counted_with_a_sign(int count) {
  numbers result;
  // proven: reserve(count)
  // inserts: if (count > 0) result.reserve(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; i++) {
    result.push_back(next(i));
  }
  return result;
}

numbers to_a_constant() {
  numbers result;
  // proven: reserve(limit)
  // inserts: result.reserve(limit);
  for (int i = 0; i != limit; ++i) result.push_back(i);
  numbers squares;
  // proven: reserve(2 * limit)
  // inserts: squares.reserve(2 * limit);
  for (int i = 0; i < 2 * limit; ++i) squares.push_back(i * i);
  return result.empty() ? result : squares;
}

numbers size_in_the_condition(const numbers& values) {
  numbers result;
  // proven: reserve(values.size())
  // inserts: result.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back(values[i]);
  numbers second;
  // proven: reserve(values.size())
  // inserts: second.reserve(values.size());
  for (int i = 0; i < static_cast<int>(values.size()); ++i) second.push_back(i);
  numbers third;
  // proven: reserve(values.size())
  // inserts: third.reserve(values.size());
  for (std::size_t i = 0, end = values.size(); i < end; ++i) third.push_back(values[i]);
  return result.empty() ? second : third;
}

numbers iterators(const std::map<int, int>& values) {
  numbers result;
  // proven: reserve(values.size())
  // inserts: result.reserve(values.size());
  for (auto i = values.begin(); i != values.end(); ++i) result.push_back(i->second);
  numbers keys;
  // proven: reserve(values.size())
  // inserts: keys.reserve(values.size());
  for (std::map<int, int>::const_iterator i = values.cbegin(); i != values.cend(); i++) keys.push_back((*i).first);
  return result.empty() ? result : keys;
}

struct pair_of_lists {
  std::vector<int> first, second;
};

numbers member_of_a_parameter(const pair_of_lists& lists, const pair_of_lists* pointer) {
  numbers result;
  // proven: reserve(lists.first.size())
  // inserts: result.reserve(lists.first.size());
  for (int value : lists.first) result.push_back(value);
  numbers second;
  // proven: reserve(pointer->second.size())
  // inserts: second.reserve(pointer->second.size());
  for (int value : pointer->second) second.push_back(value);
  return result.empty() ? second : result;
}

std::string characters(const std::string& text) {
  std::string result = "";
  // proven: reserve(text.size())
  // inserts: result.reserve(text.size());
  for (char letter : text) result += static_cast<char>(letter + 1);
  return result;
}

// A parameter keeps its room.
void cleared(numbers& result, numbers* pointer, const numbers& values) {
  result.clear();
  const std::size_t count = values.size();
  // review: reserve(values.size())
  // inserts: result.reserve(values.size());
  for (int value : values) result.push_back(value);
  pointer->clear();
  // review: reserve(count)
  // inserts: pointer->reserve(count);
  for (std::size_t i = 0; i < count; ++i) pointer->push_back(1);
}

// A vector that is longer in each row grows in each row with exact room, and six times without.
int last_of_rows(const std::vector<numbers>& rows) {
  numbers row_copy;
  int sum = 0;
  for (const numbers& row : rows) {
    row_copy.clear();
    // review: reserve(row.size())
    // inserts: row_copy.reserve(row.size());
    for (int value : row) row_copy.push_back(value);
    sum += row_copy.back();
  }
  return sum;
}

class owner {
 public:
  explicit owner(const numbers& values) : count_(1) {
    // proven: reserve(values.size())
    // inserts: values_.reserve(values.size());
    for (int value : values) values_.push_back(value * count_);
  }
  void fill(const numbers& values) {
    values_.clear();
    // review: reserve(values.size())
    // inserts: this->values_.reserve(values.size());
    for (int value : values) this->values_.push_back(value);
  }
  numbers copy() const {
    numbers result;
    // proven: reserve(values_.size())
    // inserts: result.reserve(values_.size());
    for (int value : values_) result.push_back(value);
    return result;
  }

 private:
  numbers values_;
  int count_;
};

// The container is new in each iteration of the outer loop, so each of its growths starts from nothing.
void inside_of_a_loop(const std::vector<numbers>& lists) {
  for (const numbers& list : lists) {
    numbers result;
    // proven: reserve(list.size())
    // inserts: result.reserve(list.size());
    for (int value : list) {
      const int twice = 2 * value;
      result.push_back(twice);
    }
    use(result);
  }
}

// What reads the container in the loop, or uses it after the loop, does not matter.
numbers read_in_the_loop(const numbers& values) {
  numbers result;
  if (!result.empty()) return values;
  // proven: reserve(values.size())
  // inserts: result.reserve(values.size());
  for (int value : values) {
    int& added = result.emplace_back(value);
    added += static_cast<int>(result.size()) + result.front() + result[0];
    use(result);
  }
  take(result);
  result.clear();
  return result;
}

template <class Value>
std::vector<Value> copied(const std::vector<Value>& values) {
  std::vector<Value> result;
  // proven: reserve(values.size())
  // inserts: result.reserve(values.size());
  for (const Value& value : values) result.push_back(value);
  return result;
}
template std::vector<int> copied(const std::vector<int>&);
template std::vector<std::string> copied(const std::vector<std::string>&);

template <class Value>
class filled {
 public:
  void fill(const std::vector<Value>& values) {
    auto inner = [&] {
      std::vector<Value> result;
      // proven: reserve(values.size())
      // inserts: result.reserve(values.size());
      for (const Value& value : values) result.push_back(value);
      return result;
    };
    values_ = inner();
  }

 private:
  std::vector<Value> values_;
};
template class filled<int>;
template class filled<long>;

auto in_a_lambda(const numbers& values) {
  return [values] {
    numbers result;
    // proven: reserve(values.size())
    // inserts: result.reserve(values.size());
    for (int value : values) result.push_back(value);
    return result;
  };
}

std::vector<std::unique_ptr<int>> movable_elements(const numbers& values) {
  std::vector<std::unique_ptr<int>> result;
  // proven: reserve(values.size())
  // inserts: result.reserve(values.size());
  for (int value : values) result.push_back(std::make_unique<int>(value));
  return result;
}

}  // namespace proven

namespace reviewed {

// The count may be a claim of an input, which the first iteration refutes.
numbers read_all(const std::vector<std::string>& texts, unsigned count) {
  numbers result;
  // review: reserve(count)
  // inserts: result.reserve(count);
  for (unsigned i = 0; i < count; ++i) result.push_back(parse(texts[i]));
  return result;
}

void stop(const char* text) noexcept;
numbers of_a_count_from_a_file(unsigned count, const numbers& bytes) {
  numbers result;
  // review: reserve(count)
  // inserts: result.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    if (i == bytes.size()) stop("truncated file");
    result.push_back(bytes[i]);
  }
  return result;
}

}  // namespace reviewed

namespace silent {

numbers some_elements(const numbers& values) {
  numbers result;
  for (int value : values)
    if (value > 0) result.push_back(value);
  numbers second;
  for (int value : values) {
    if (value < 0) continue;
    second.push_back(value);
  }
  numbers third;
  for (int value : values) {
    third.push_back(value);
    if (value == 7) break;
  }
  numbers fourth;
  for (int value : values) {
    if (value == 7) return fourth;
    fourth.push_back(value);
  }
  numbers fifth;
  for (int value : values) {
    if (value == 7) throw value;
    fifth.push_back(value);
  }
  numbers sixth;
  for (int value : values) static_cast<void>((value > 1) && (sixth.push_back(value), true));
  numbers seventh;
  for (int value : values) {
    try {
      seventh.push_back(next(value));
    } catch (...) {
    }
  }
  return result.empty() ? second : third;
}

// The number of elements is another one than that of the iterations, or unknown.
numbers counts(const numbers& values, int first) {
  numbers twice;
  for (int value : values) {
    twice.push_back(value);
    twice.push_back(value);
  }
  numbers nested;
  for (int value : values)
    for (int second : values) nested.push_back(value * second);
  numbers whole;
  while (whole.size() < 10) whole.push_back(first++);
  numbers from_first;
  for (int i = first; i < 10; ++i) from_first.push_back(i);
  numbers steps;
  for (int i = 0; i < limit; i += 2) steps.push_back(i);
  numbers jumps;
  for (int i = 0; i < limit; ++i) {
    i += first;
    jumps.push_back(i);
  }
  numbers moving;
  for (int i = 0; i < first; ++i) {
    moving.push_back(i);
    --first;
  }
  numbers three;
  for (int i = 0; i < 3; ++i) three.push_back(i);
  std::string text;
  for (int i = 0; i < 20; ++i) text.push_back('x');
  std::string joined;
  for (int value : values) joined += std::to_string(value);
  return whole;
}

std::vector<std::string> lines();
numbers calls() {
  numbers result;
  for (const std::string& line : lines()) result.push_back(parse(line));
  numbers literal;
  for (int value : {1, 2, 3, 4, 5}) literal.push_back(value);
  return result;
}

// There may be elements before the loop, and references to them.
numbers not_empty(numbers values, const numbers& additions, numbers& result, numbers* pointer) {
  for (int value : additions) values.push_back(value);
  for (int value : additions) result.push_back(value);
  for (int value : additions) pointer->push_back(value);
  numbers constructed(3);
  for (int value : additions) constructed.push_back(value);
  numbers copied = additions;
  for (int value : additions) copied.push_back(value);
  numbers started;
  started.push_back(1);
  for (int value : additions) started.push_back(value);
  numbers passed;
  take(passed);
  for (int value : additions) passed.push_back(value);
  numbers assigned;
  assigned = additions;
  for (int value : additions) assigned.push_back(value);
  numbers moved;
  numbers target = std::move(moved);
  for (int value : additions) moved.push_back(value);
  numbers swapped;
  swapped.swap(target);
  for (int value : additions) swapped.push_back(value);
  numbers named;
  numbers& name = named;
  name.push_back(1);
  for (int value : additions) named.push_back(value);
  numbers captured;
  auto add = [&captured](int value) { captured.push_back(value); };
  add(1);
  for (int value : additions) captured.push_back(value);
  static numbers kept_values;
  for (int value : additions) kept_values.push_back(value);
  return values;
}

// An outer loop fills it more than once.
numbers several_times(const std::vector<numbers>& lists) {
  numbers result;
  for (const numbers& list : lists) {
    for (int value : list) result.push_back(value);
  }
  return result;
}

numbers room_is_managed(const numbers& values) {
  numbers result;
  result.reserve(values.size() + 1);
  for (int value : values) result.push_back(value);
  numbers measured;
  for (int value : values) {
    measured.push_back(value);
    if (measured.capacity() > 100) next(value);
  }
  numbers shrunk;
  for (int value : values) shrunk.push_back(value);
  shrunk.shrink_to_fit();
  return result;
}

// reserve_sites.cpp has those that are cleared or moved.
numbers taken_away_in_the_loop(const numbers& values) {
  numbers given_away;
  for (int value : values) {
    given_away.push_back(value);
    take(given_away);
  }
  numbers popped;
  for (int value : values) {
    popped.push_back(value);
    popped.pop_back();
  }
  return popped;
}

void flush(numbers& values);
class with_calls {
 public:
  with_calls(const numbers& values) {
    fill();
    for (int value : values) values_.push_back(value);
  }
  explicit with_calls(int) : values_(3) {
    for (int i = 0; i < limit; ++i) values_.push_back(i);
  }
  void refill(const numbers& values) {
    values_.clear();
    fill();
    for (int value : values) values_.push_back(value);
  }
  void refill(with_calls& second, const numbers& values) {
    second.values_.clear();
    for (int value : values) values_.push_back(value);
  }
  void add(const numbers& values) {
    for (int value : values) values_.push_back(value);
  }
  void fill();

 private:
  numbers values_;
};

// A jump passes by the call of clear().
void jumps(int kind, numbers& result, const numbers& values) {
  switch (kind) {
    case 0:
      next(kind);
      result.clear();
      [[fallthrough]];
    case 1:
      next(1);
      for (int value : values) result.push_back(value);
  }
  numbers repeated;
repeated:
  for (int value : values) repeated.push_back(value);
  if (repeated.size() < 10) goto repeated;
}

#define ADD(list, value) list.push_back(value)
#define EACH(value, values) for (int value : values)
numbers macros(const numbers& values) {
  numbers result;
  for (int value : values) ADD(result, value);
  numbers second;
  EACH(value, values) second.push_back(value);
  return result;
}

numbers configurations(const numbers& values) {
  numbers result;
#ifdef SORTED
  result.reserve(10);
#endif
  for (int value : values) result.push_back(value);
  return result;
}

numbers a_line_for_the_compiler(const numbers& values) {
  numbers result;
#pragma GCC ivdep
  for (int value : values) result.push_back(value);
  return result;
}

// Only a block has room for one more statement.
numbers no_block(const numbers& values, bool is_needed) {
  numbers result;
  if (is_needed)
    for (int value : values) result.push_back(value);
  return result;
}

// Another instantiation, here or in another file, may have a container that cannot reserve, or that has no size.
template <class List>
List any_list(const std::vector<int>& values) {
  List result;
  for (int value : values) result.push_back(value);
  return result;
}
template std::vector<int> any_list(const std::vector<int>&);
template std::list<int> any_list(const std::vector<int>&);
template <class List>
numbers any_source(const List& values) {
  numbers result;
  for (int value : values) result.push_back(value);
  return result;
}
template numbers any_source(const std::vector<int>&);
auto generic = [](const auto& values) {
  numbers result;
  for (int value : values) result.push_back(value);
  return result;
};
numbers from_generic(const numbers& values) { return generic(values); }

// Other containers, and other ways to fill one.
std::deque<int> others(const numbers& values) {
  std::deque<int> queue;
  for (int value : values) queue.push_back(value);
  std::list<int> list;
  for (int value : values) list.push_back(value);
  proven::pair_of_lists lists;
  for (int value : values) lists.first.push_back(value);
  auto pointer = std::make_unique<numbers>();
  for (int value : values) pointer->push_back(value);
  std::function<void(int)> add = [&](int value) { lists.second.push_back(value); };
  for (int value : values) add(value);
  return queue;
}

}  // namespace silent
