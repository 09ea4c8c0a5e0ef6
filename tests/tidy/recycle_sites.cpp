// check: tarn-recycle -Wno-shadow -Wno-unused-variable
#include <algorithm>
#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory_resource>
#include <set>
#include <stdexcept>
#include <string>
// inserts: #include <tarn/recycle.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tarn/heap.hpp>
#include <tarn/pooled.hpp>

using texts = std::vector<std::string>;
void print(const std::string& text);
void fill(std::vector<int>& values);
std::string new_text();
std::string changes(std::string& text);
std::function<void()> later;
const std::string* address = nullptr;
std::string global_text;

// The page has one edit, so that the edited page is compiled.
void edited() {
  // proven: 'text'
  // becomes: auto kept_text = tarn::recycle<std::string>();
  // becomes: std::string& text = *kept_text;
  // site: 0
  std::string text;
  text += "some text";
  print(text);
}

void not_recorded() {
  std::string text;
  text += "some text";
  print(text);
}

// A caller gets the memory, or an exception does.
std::string returned(int count) {
  // no edit: 'text' leaves the function here, with its memory
  // site: 0
  std::string text(static_cast<std::size_t>(count), 'a');
  return text;
}
std::string returned_constant(const std::string& source) {
  // no edit: 'text' leaves the function here
  // site: 0
  const std::string text = source + source;
  return text;
}
auto returned_by_a_lambda = [](int count) {
  // no edit: 'text' leaves the function here
  // site: 0
  std::string text(static_cast<std::size_t>(count), 'a');
  if (count > 3) return std::string();
  return (text);
};
struct named {
  std::string name;
  named(std::string initial) : name(std::move(initial)) {}
};
named converted() {
  // no edit: 'text' leaves the function here
  // site: 0
  std::string text;
  text += "some text";
  return text;
}
void thrown() {
  // no edit: 'text' leaves the function here
  // site: 0
  std::string text;
  text += "some text";
  throw text;
}
void moved() {
  // no edit: 'text' gives its memory away here
  // site: 0
  std::string text;
  text += "some text";
  global_text = std::move(text);
  // no edit: 'second' gives its memory away here
  // site: 0
  std::string second;
  second.swap(global_text);
  // no edit: 'third' gives its memory away here
  // site: 0
  std::string third = global_text;
  std::swap(third, global_text);
  // no edit: 'fourth' gives its memory away here
  // site: 0
  std::string fourth = global_text;
  std::ranges::swap(global_text, fourth);
  // no edit: 'fifth' gives its memory away here
  // site: 0
  std::string fifth = global_text;
  std::ranges::iter_swap(&global_text, &fifth);
  // no edit: 'sixth' gives its memory away here
  // site: 0
  std::string sixth = global_text;
  global_text = std::forward<std::string>(sixth);
}
void takes(texts& list) {
  // no edit: 'text' takes over the memory of this value
  // site: 0
  std::string text = new_text();
  // no edit: 'next' takes over the memory of this value
  // site: 0
  std::string next;
  next = new_text();
  // no edit: 'values' takes over the memory of this value
  // site: 0
  texts values = std::move(list);
  print(text + next + values[0]);
}

// A reference to the object may be used after the block: a wrong program that works by chance.
void stored() {
  // review: 'text'
  // becomes: auto kept_text = tarn::recycle<std::string>();
  // becomes: std::string& text = *kept_text;
  // site: 0
  std::string text;
  text += "some text";
  later = [&text] { print(text); };
  // review: 'second'
  // becomes: auto kept_second = tarn::recycle<std::string>();
  // becomes: std::string& second = *kept_second;
  // becomes: second = text;
  // site: 0
  std::string second = text;
  address = &second;
}

// A reference is not the variable. In a second pair of brackets it is.
void asked_as_an_expression() {
  // proven: 'text'
  // becomes: auto kept_text = tarn::recycle<std::string>();
  // becomes: std::string& text = *kept_text;
  // site: 0
  std::string text;
  text += "some text";
  static_assert(std::is_reference_v<decltype((text))>);
}
void asks_for_type() {
  // no edit: the type of 'text' is asked for
  // site: 0
  std::string text;
  text += "some text";
  static_assert(!std::is_reference_v<decltype(text)>);
}
#define TYPE_OF(name) decltype(name)
void asked_by_a_macro() {
  // no edit: the type of 'text' is asked for
  // site: 0
  std::string text;
  text += "some text";
  TYPE_OF(text) copy(text);
  print(copy);
}

template <class Value>
void asked_in_a_template(const Value& value) {
  // no edit: the type of 'values' is asked for
  // site: 0
  std::vector<Value> values(2, value);
  using values_type = decltype(values);
  static_assert(!std::is_reference_v<values_type>);
}
template void asked_in_a_template(const int&);
template void asked_in_a_template(const long&);
auto asked_by_the_result = []() -> auto {
  // no edit: the type of 'text' is asked for
  // site: 0
  std::string text;
  text += "some text";
  std::vector<std::decay_t<decltype(text)>> list(2, text);
  return list.size();
};

void declared(const texts& list, std::string& source) {
  // no edit: the type is not written out alone
  // site: 0
  std::string const constant = source;
  // no edit: 'uncertain' is volatile
  // site: 0
  const volatile texts uncertain(3);
  // no edit: 'constant_name' takes over the memory of this value
  // site: 0
  const std::string constant_name = new_text();
  // no edit: the type of 'deduced' is not written out alone
  // site: 0
  auto deduced = source;
  // no edit: the type of 'unused' is not written out alone
  // site: 0
  [[maybe_unused]] std::string unused = source;
  // no edit: the statement declares several kinds of variables
  // site: 0
  std::string first = source, *second = &first;
  // no edit: 'of_an_arena' takes its memory from an allocator of its own
  // site: 0
  std::pmr::string of_an_arena(source);
  // no edit: this may change what stands before it in the text
  // site: 0
  std::string reordered = source + changes(source);
  // no edit: the code manages the room of 'managed' itself
  // site: 0
  std::string managed = source;
  if (managed.capacity() > 100) print(managed);
  // site: 0
  static std::string once = source;
  // site: 0
  std::map<int, int> tree = {{1, 2}};
  // site: 0
  std::list<int> nodes = {1};
  // site: 0
  std::array<std::string, 2> pair = {source, source};
  // no edit: the header of a statement declares it
  // site: 0
  for (std::string text = source; text.size() < 50; text += "some text") print(text);
  // no edit: the header of a statement declares it
  // site: 0
  if (std::string text = source; !text.empty()) print(text);
  switch (list.size()) {
    case 1: print("one"); break;
    default:
      print("more");
      // no edit: a label of the switch may jump past the declaration
      // site: 0
      std::string text = source;
      print(text);
  }
  print(constant + deduced + reordered + *second);
}

void has_the_name(const std::string& kept_text) {
  // no edit: the function has the name 'kept_text' already
  // site: 0
  std::string text = kept_text;
  print(text);
}

#define DECLARE std::string text
void by_a_macro() {
  // no edit: a macro writes this code
  // site: 0
  DECLARE;
  print(text);
}

void never_throws() noexcept {
  // no edit: the function must not throw, and the cache may
  // site: 0
  std::string text;
  text += "some text";
  print(text);
}
struct ends {
  ~ends() {
    // no edit: the function must not throw, and the cache may
    // site: 0
    std::string text;
    text += "some text";
    print(text);
  }
};
constexpr std::size_t constant_size() {
  // no edit: the function is constexpr
  // site: 0
  std::string text;
  text += "some text";
  return text.size();
}
void jumps() {
repeat:
  print("again");
  // no edit: the block has labels or can be suspended
  // site: 0
  std::string text;
  text += "some text";
  if (text.empty()) goto repeat;
}
void configured() {
#ifdef NDEBUG
  print("release");
#endif
  // no edit: the block differs from configuration to configuration
  // site: 0
  std::string text;
  text += "some text";
}
void in_an_expression() {
  print(__extension__({
    // no edit: the block is part of an expression
    // site: 0
    std::string text;
    text += "some text";
    text + "more";
  }));
}
void of_a_heap(tarn::heap& heap) {
  const tarn::scoped_current_heap use(heap);
  // no edit: a heap of Tarn may end before the cache
  // site: 0
  std::string text;
  text += "some text";
}

template <class List>
void any_list(const List& list) {
  // no edit: 'copy' may be another class in another instantiation
  // site: 0
  List copy = list;
  copy.clear();
}
template void any_list(const texts&);

// The instantiations differ.
template <class Value>
void either(const Value& value) {
  // no edit: instantiations of the template need different edits
  // site: 0
  std::vector<Value> values(2, value);
  if constexpr (std::is_same_v<Value, int>) later = [&values] { print(std::to_string(values[0])); };
}
template void either(const int&);
template void either(const long&);

struct of_a_class : tarn::pooled<of_a_class> {};

int main(int count, char**) {
  // no edit: main() makes it only once
  // site: 0
  std::string text(static_cast<std::size_t>(count), 'a');
  print(text);
}

// The deduced arguments of a template are not in the text.
void deduced(int number) {
  // no edit: the type of 'numbers' is not written out alone
  // site: 0
  std::vector numbers{number, number};
  fill(numbers);
}

namespace acme::memory {}
void beside_an_alias() {
  namespace tarn = acme::memory;
  // proven: 'text'
  // becomes: auto kept_text = ::tarn::recycle<std::string>();
  // becomes: std::string& text = *kept_text;
  // site: 0
  std::string text;
  print(text);
}
