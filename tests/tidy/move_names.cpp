// check: tarn-move
#include <optional>
#include <ranges>
#include <string>
// inserts: #include <utility>
#include <variant>
#include <vector>

namespace acme {
namespace std {
struct text {};
}  // namespace std
::std::vector<::std::string> results;
void keep(const ::std::string& text) {
  ::std::string copy(text);
  copy += "end";
  // proven: 'copy' is used here for the last time
  // becomes: results.push_back(::std::move(copy));
  // site: 0
  results.push_back(copy);
}
}  // namespace acme

const std::string* remembered;
std::size_t length_sum;
std::size_t add_length() { return length_sum += remembered->size(); }
void remember(const std::string& text) { remembered = &text; }
struct measured_object {
  int number;
  std::size_t length = add_length();
};
void beside_a_default_value(std::vector<std::string>& list) {
  std::string text = "text";
  remember(text);
  // review: 'text' is used here for the last time
  // becomes: list.push_back(::std::move(text));
  // site: 0
  list.push_back(text);
  measured_object object(1);
  length_sum += object.length;
}

// The functions of a name are those of the class in which it is found.
const std::string long_text = "a text that is longer than a short one";
struct source {
  std::size_t sum = 0;
  explicit source(std::size_t start) : sum(start) {}
  source(std::string text, long number) : sum(text.size() + static_cast<std::size_t>(number)) {}
  void post(std::string text, long number) { sum += text.size() + static_cast<std::size_t>(number); }
  void operator()(std::string text, long number) { post(text + "end", number); }
  void operator+=(std::string text) { sum += text.size(); }
  static void put(std::string text, long number) { length_sum += text.size() + static_cast<std::size_t>(number); }
};
struct second_source {
  void post(std::string&& text, int number) { length_sum += text.size() * static_cast<std::size_t>(number); }
};
struct derived_source : source {
  using source::source;
  derived_source(std::string&& text, int number) : source(text.size() * static_cast<std::size_t>(number)) {}
  using source::post;
  void post(std::string&& text, int number) { sum += text.size() * static_cast<std::size_t>(number); }
  using source::operator();
  void operator()(std::string&& text, int number) { post(text + "end", number); }
  using source::operator+=;
  void operator+=(std::string&& text) { sum -= text.size(); }
  using source::put;
  static void put(std::string&& text, int number) { length_sum -= text.size() * static_cast<std::size_t>(number); }
  void post_text() {
    std::string first = long_text;
    // review: 'first'
    // becomes: post(::std::move(first), 1);
    // site: 0
    post(first, 1);
  }
};
struct last_source : derived_source {
  using derived_source::derived_source;
};
struct joined_source : source, second_source {
  using second_source::post;
  using source::post;
  using source::source;
};
struct counted_list : std::vector<std::string> {
  using std::vector<std::string>::push_back;
  void push_back(std::string&& text) { emplace_back(text + "end"); }
};
struct counted_text : std::string {
  using std::string::operator=;
  counted_text& operator=(std::string&& text) {
    append(text);
    return *this;
  }
};
void by_members(last_source& object, joined_source& joined, counted_list& list, counted_text& target) {
  std::string first = long_text;
  // review: 'first'
  // becomes: object.post(::std::move(first), 1);
  // site: 0
  object.post(first, 1);
  std::string second = long_text;
  // review: 'second'
  // becomes: joined.post(::std::move(second), 1);
  // site: 0
  joined.post(second, 1);
  std::string third = long_text;
  // review: 'third'
  // becomes: last_source::put(::std::move(third), 1);
  // site: 0
  last_source::put(third, 1);
  std::string fourth = long_text;
  // review: 'fourth'
  // becomes: object(::std::move(fourth), 1);
  // site: 0
  object(fourth, 1);
  std::string fifth = long_text;
  // review: 'fifth'
  // becomes: list.push_back(::std::move(fifth));
  // site: 0
  list.push_back(fifth);
  std::string sixth = long_text;
  // review: 'sixth'
  // becomes: target = ::std::move(sixth);
  // site: 0
  target = sixth;
  std::string seventh = long_text;
  // proven: 'seventh'
  // becomes: object.source::post(::std::move(seventh), 1);
  // site: 0
  object.source::post(seventh, 1);
  std::string eighth = long_text;
  // proven: 'eighth'
  // becomes: joined(::std::move(eighth), 1);
  // site: 0
  joined(eighth, 1);
  std::string ninth = long_text;
  // proven: 'ninth'
  // becomes: joined += ::std::move(ninth);
  // site: 0
  joined += ninth;
}
void by_constructors(std::size_t& sum) {
  std::string first = long_text;
  // review: 'first'
  // becomes: const derived_source object(::std::move(first), 1);
  // site: 0
  const derived_source object(first, 1);
  std::string second = long_text;
  // proven: 'second'
  // becomes: const joined_source joined(::std::move(second), 1);
  // site: 0
  const joined_source joined(second, 1);
  sum += object.sum + joined.sum;
}

// The arguments of a class template are deduced from the copy.
struct note {
  std::string text;
  note(std::string&& value) : text(value + "moved") {}
};
template <class Value>
struct box {
  Value value;
  explicit box(Value first) : value(first) {}
};
template <class Value>
box(Value) -> box<Value>;
box(std::string&&) -> box<note>;
template <class Value>
struct aggregate {
  Value value;
};
template <class Value>
aggregate(Value) -> aggregate<Value>;
aggregate(std::string&&) -> aggregate<note>;
template <class Value>
struct plain_box {
  Value value;
  explicit plain_box(Value first) : value(first) {}
};
std::size_t by_deduction() {
  std::string first = long_text;
  // review: 'first'
  // becomes: const auto object = box(::std::move(first));
  // site: 0
  const auto object = box(first);
  std::string second = long_text;
  // proven: 'second'
  // becomes: const plain_box plain(::std::move(second));
  // site: 0
  const plain_box plain(second);
  std::string third = long_text;
  // review: 'third'
  // becomes: const aggregate list{::std::move(third)};
  // site: 0
  const aggregate list{third};
  return sizeof(object) + sizeof(plain) + sizeof(list);
}

// A call of an object may be one by its conversion to a pointer to a function.
using by_value = void (*)(std::string, long);
using by_rvalue = void (*)(std::string&&, int);
void call_by_value(std::string text, long number) { source::put(text, number); }
void call_by_rvalue(std::string&& text, int number) { derived_source::put(text + "end", number); }
struct function_object {
  operator by_value() const { return call_by_value; }
  operator by_rvalue() const { return call_by_rvalue; }
};
struct mixed_object {
  void operator()(std::string text, int number) const { source::put(text, number); }
  operator by_rvalue() const { return call_by_rvalue; }
};
template <class... Base>
struct overloaded : Base... {
  using Base::operator()...;
};
template <class... Base>
overloaded(Base...) -> overloaded<Base...>;
void by_function_objects(const function_object& first_object, const mixed_object& second_object) {
  const overloaded third_object{[](std::string text, long number) { source::put(text, number); },
                                [](std::string&& text, int number) { source::put(text + "end", number); }};
  const auto fourth_object = [](std::string text, long number) { source::put(text, number); };
  std::string first = long_text;
  // review: 'first'
  // becomes: first_object(::std::move(first), 1);
  // site: 0
  first_object(first, 1);
  std::string second = long_text;
  // review: 'second'
  // becomes: second_object(::std::move(second), 1);
  // site: 0
  second_object(second, 1);
  std::string third = long_text;
  // review: 'third'
  // becomes: third_object(::std::move(third), 1);
  // site: 0
  third_object(third, 1);
  std::string fourth = long_text;
  // proven: 'fourth'
  // becomes: fourth_object(::std::move(fourth), 1);
  // site: 0
  fourth_object(fourth, 1);
}

// Only an rvalue converts to the parameter of another function, or to a part of it.
struct message {
  std::string text;
  void operator<<(int number) && { source::put(text + "end", number); }
};
void operator<<(message object, long number) { source::put(object.text, number); }
struct draft {
  std::string title, text;
  operator message() && { return {title + text}; }
};
struct wrapper {
  std::string text;
  wrapper(std::string value) : text(value) {}
};
struct outbox {
  void send(draft object, int number) { source::put(object.text, number); }
  void send(message object, int number) { source::put(object.text + "end", number); }
  void add(std::string text, int number) { source::put(text, number); }
  void add(std::optional<note> object, int number) { source::put(object->text, number); }
  void append(std::string text, int number) { source::put(text, number); }
  void append(std::variant<int, note> object, int number) { source::put(std::get<1>(object).text, number); }
  void fill(std::vector<int> list, int number) { source::put(long_text, list.front() + number); }
  void fill(std::ranges::owning_view<std::vector<int>> list, int number) { source::put(long_text, list[1] + number); }
  void wrap(wrapper object, long number) { source::put(object.text, number); }
  void wrap(std::string&& text, int number) { source::put(text + "end", number); }
  void put(std::string text, int number) { source::put(text, number); }
  void put(std::optional<int> object, int number) { source::put(long_text, *object + number); }
  void put(std::vector<std::string> list, int number) { source::put(list[0], number); }
  void put(const char* text, int number) { source::put(text, number); }
};
template <class Value>
void spread(std::string text, int number) {
  source::put(text, number);
}
template <class Value>
void spread(std::optional<Value> object, int number) {
  source::put(object->text, number);
}
void by_conversions(outbox& box, message target) {
  message object{long_text};
  // review: 'object'
  // becomes: ::std::move(object) << 1;
  // site: 0
  object << 1;
  message copied_object{long_text};
  // proven: 'copied_object'
  // becomes: target = ::std::move(copied_object);
  // site: 0
  target = copied_object;
  draft first{long_text, long_text};
  // review: 'first'
  // becomes: box.send(::std::move(first), 1);
  // site: 0
  box.send(first, 1);
  std::string second = long_text;
  // review: 'second'
  // becomes: box.add(::std::move(second), 1);
  // site: 0
  box.add(second, 1);
  std::string third = long_text;
  // review: 'third'
  // becomes: box.append(::std::move(third), 1);
  // site: 0
  box.append(third, 1);
  std::vector<int> fourth(3, 1);
  // review: 'fourth'
  // becomes: box.fill(::std::move(fourth), 1);
  // site: 0
  box.fill(fourth, 1);
  std::string fifth = long_text;
  // review: 'fifth'
  // becomes: box.wrap(::std::move(fifth), 1);
  // site: 0
  box.wrap(fifth, 1);
  std::string sixth = long_text;
  // review: 'sixth'
  // becomes: spread<note>(::std::move(sixth), 1);
  // site: 0
  spread<note>(sixth, 1);
  std::string seventh = long_text;
  // proven: 'seventh'
  // becomes: box.put(::std::move(seventh), 1);
  // site: 0
  box.put(seventh, 1);
  std::string eighth = long_text;
  // proven: 'eighth'
  // becomes: box.wrap(wrapper(::std::move(eighth)), 1);
  // site: 0
  box.wrap(wrapper(eighth), 1);
}
