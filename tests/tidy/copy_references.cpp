// check: tarn-copy -Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Functions of the program that get a reference to the original, or to the copy.
using texts = std::vector<std::string>;
const std::string long_text = "a text that is longer than a short one";

// An object whose own class stores its address.
struct widget;
std::vector<widget*> registry;
struct widget {
  std::string name;
  explicit widget(const std::string& text) : name(text) { registry.push_back(this); }
};
void rename_all() {
  for (widget* next : registry) next->name = "x";
}
std::size_t by_a_constructor() {
  widget object(long_text);
  // review: 'copy' is only read
  // becomes: const std::string& copy = object.name;
  // site: 0
  std::string copy = object.name;
  rename_all();
  return copy.size();
}
std::size_t of_an_element() {
  std::vector<widget> objects;
  objects.emplace_back(long_text);
  // review: 'copy'
  // becomes: const std::string& copy = objects[0].name;
  // site: 0
  std::string copy = objects[0].name;
  rename_all();
  return copy.size();
}
struct window {
  int width = 1;
  std::pair<int, widget> content{1, widget(long_text)};
};
std::size_t of_a_member() {
  window object;
  // review: 'copy'
  // becomes: const std::string& copy = object.content.second.name;
  // site: 0
  std::string copy = object.content.second.name;
  rename_all();
  return copy.size();
}
std::size_t of_a_parameter(widget object) {
  // review: 'copy'
  // becomes: const std::string& copy = object.name;
  // site: 0
  std::string copy = object.name;
  rename_all();
  return copy.size();
}
struct framed_widget : widget {
  int width = 1;
};
std::size_t of_a_base(const framed_widget& source) {
  framed_widget object = source;
  // review: 'copy'
  // becomes: const std::string& copy = object.name;
  // site: 0
  std::string copy = object.name;
  rename_all();
  return copy.size();
}
// The elements of a result.
std::vector<widget> make_widgets();
std::size_t of_a_result() {
  std::size_t letters = 0;
  // review: 'next'
  // becomes: for (const widget& next : make_widgets()) {
  // site: 0
  for (widget next : make_widgets()) {
    rename_all();
    letters += next.name.size();
  }
  return letters;
}

// The other ways by which a class may store an address.
struct listed {
  std::string name = long_text;
  void enlist() { addresses.push_back(&name); }
  static std::vector<std::string*> addresses;
};
void change_listed() { *listed::addresses.back() = "x"; }
std::size_t by_a_function() {
  listed object;
  object.enlist();
  // review: 'copy'
  // becomes: const std::string& copy = object.name;
  // site: 0
  std::string copy = object.name;
  change_listed();
  return copy.size();
}
std::size_t by_no_function() {
  listed object;
  // proven: 'copy'
  // becomes: const std::string& copy = object.name;
  // site: 0
  std::string copy = object.name;
  change_listed();
  return copy.size();
}
struct by_another_function {
  std::string name = long_text;
  by_another_function() { start(); }
  void start() { listed::addresses.push_back(&get()); }
  std::string& get() { return name; }
};
void enlist(std::string& text) { listed::addresses.push_back(&text); }
struct by_a_free_function {
  std::string name = long_text;
  by_a_free_function() { enlist(name); }
};
int number_of(std::string* text) {
  listed::addresses.push_back(text);
  return 1;
}
struct by_a_first_value {
  std::string name = long_text;
  int number = number_of(&name);
};
std::function<void()> change_later;
struct by_a_lambda {
  std::string name = long_text;
  by_a_lambda() {
    change_later = [this] { name = "x"; };
  }
};
struct by_a_number {
  std::string name = long_text;
  std::uintptr_t number;
  by_a_number() : number(reinterpret_cast<std::uintptr_t>(&name)) {}
};
struct by_a_template {
  std::string name;
  template <class Text>
  explicit by_a_template(const Text& text) : name(text) {
    enlist(name);
  }
};
struct in_another_unit {
  std::string name;
  in_another_unit();
};
struct without_address {
  std::string name;
  int number = 0;
  explicit without_address(const std::string& text) : name(text) { count(); }
  void count() {
    number = length() + static_cast<int>(name.size());
    shorten(name);
  }
  int length() const { return std::printf("%s", name.c_str()); }
  static void shorten(std::string& text) { text.resize(text.size() / 2 + std::strlen(text.c_str()) / 2); }
};
template <class Object>
std::size_t by_other_ways(const by_a_template& source) {
  by_another_function first;
  // review: 'copy_1'
  // becomes: const std::string& copy_1 = first.name;
  // site: 0
  std::string copy_1 = first.name;
  by_a_free_function second;
  // review: 'copy_2'
  // becomes: const std::string& copy_2 = second.name;
  // site: 0
  std::string copy_2 = second.name;
  by_a_first_value third;
  // review: 'copy_3'
  // becomes: const std::string& copy_3 = third.name;
  // site: 0
  std::string copy_3 = third.name;
  by_a_lambda fourth;
  // review: 'copy_4'
  // becomes: const std::string& copy_4 = fourth.name;
  // site: 0
  std::string copy_4 = fourth.name;
  by_a_number fifth;
  // review: 'copy_5'
  // becomes: const std::string& copy_5 = fifth.name;
  // site: 0
  std::string copy_5 = fifth.name;
  by_a_template sixth = source;
  // review: 'copy_6'
  // becomes: const std::string& copy_6 = sixth.name;
  // site: 0
  std::string copy_6 = sixth.name;
  in_another_unit seventh;
  // review: 'copy_7'
  // becomes: const std::string& copy_7 = seventh.name;
  // site: 0
  std::string copy_7 = seventh.name;
  without_address eighth(long_text);
  eighth.count();
  // proven: 'copy_8'
  // becomes: const std::string& copy_8 = eighth.name;
  // site: 0
  std::string copy_8 = eighth.name;
  change_listed();
  return copy_1.size() + copy_2.size() + copy_3.size() + copy_4.size() + copy_5.size() + copy_6.size() + copy_7.size() +
         copy_8.size();
}
template std::size_t by_other_ways<int>(const by_a_template& source);

// A function that stores a reference to the copy.
const std::string* stored;
std::string_view stored_view;
void store(const std::string& text) { stored = &text; }
void store_by_address(const std::string* text) { stored = text; }
void store_by_another(const std::string& text) { store(text); }
void store_view(std::string_view text) { stored_view = text; }
void store_elsewhere(const std::string& text);
std::uintptr_t stored_number;
void store_number(const std::string* text) { stored_number = reinterpret_cast<std::uintptr_t>(text); }
void throw_address(const std::string* text) {
  if (text->empty()) throw text;
}
const std::string& identity(const std::string& text) { return text; }
std::size_t length(const std::string& text) {
  return identity(text).size() + static_cast<std::size_t>(std::puts(text.c_str()));
}
struct keeper {
  const std::string* text = nullptr;
  std::string copy;
  void set(const std::string& source) { text = &source; }
  void set_copy(const std::string& source) { copy = source; }
  keeper& operator<<(const std::string& source) {
    text = &source;
    return *this;
  }
};
std::size_t by_storing(keeper& object, int kind) {
  texts list(9, long_text);
  // no edit: the original of 'first' may be changed while it is used
  // site: 0
  std::string first = list[0];
  store(first);
  // no edit: the original of 'second'
  // site: 0
  const std::string second = list[1];
  store_by_address(&second);
  // no edit: the original of 'third'
  // site: 0
  std::string third = list[2];
  store_by_another(third);
  // no edit: the original of 'fourth'
  // site: 0
  std::string fourth = list[3];
  store_view(fourth);
  // no edit: the original of 'fifth'
  // site: 0
  std::string fifth = list[4];
  store_elsewhere(fifth);
  // no edit: the original of 'sixth'
  // site: 0
  std::string sixth = list[5];
  object.set(sixth);
  // no edit: the original of 'seventh'
  // site: 0
  std::string seventh = list[6];
  object << seventh;
  // no edit: the original of 'tenth'
  // site: 0
  const std::string tenth = list[6];
  store_number(&tenth);
  // no edit: the original of 'eleventh'
  // site: 0
  const std::string eleventh = list[6];
  throw_address(&eleventh);
  // proven: 'eighth'
  // becomes: const std::string& eighth = list[7];
  // site: 0
  std::string eighth = list[7];
  object.set_copy(eighth);
  // proven: 'ninth'
  // becomes: const std::string& ninth = list[8];
  // site: 0
  std::string ninth = list[8];
  const std::size_t letters = length(ninth);
  list[0] = "x";
  return letters + stored->size();
}

// The elements of a container may be known from before it got them.
std::string* element;
texts make_list() {
  texts list(3, long_text);
  element = &list[0];
  return list;
}
void change_element() { *element = "x"; }
struct owner {
  texts list;
};
std::size_t of_a_list(texts parameter) {
  texts first = make_list();
  // review: 'copy_1'
  // becomes: const std::string& copy_1 = first[0];
  // site: 0
  std::string copy_1 = first[0];
  texts second;
  second = make_list();
  // review: 'copy_2'
  // becomes: const std::string& copy_2 = second[0];
  // site: 0
  std::string copy_2 = second[0];
  owner third{make_list()};
  // review: 'copy_3'
  // becomes: const std::string& copy_3 = third.list[0];
  // site: 0
  std::string copy_3 = third.list[0];
  // review: 'copy_4'
  // becomes: const std::string& copy_4 = parameter[0];
  // site: 0
  std::string copy_4 = parameter[0];
  std::vector<texts> fifth;
  fifth.push_back(make_list());
  // review: 'copy_5'
  // becomes: const texts& copy_5 = fifth[0];
  // site: 0
  texts copy_5 = fifth[0];
  std::vector<texts> sixth(1);
  sixth.front() = make_list();
  // review: 'copy_6'
  // becomes: const texts& copy_6 = sixth[0];
  // site: 0
  texts copy_6 = sixth[0];
  texts seventh{long_text, long_text};
  seventh.push_back(long_text + "!");
  seventh.at(1) = "1";
  // proven: 'copy_7'
  // becomes: const std::string& copy_7 = seventh[0];
  // site: 0
  std::string copy_7 = seventh[0];
  std::string eighth = make_list()[0];
  // proven: 'copy_8'
  // becomes: const std::string& copy_8 = eighth;
  // site: 0
  std::string copy_8 = eighth;
  std::size_t letters = 0;
  // review: 'text'
  // becomes: for (const std::string& text : make_list()) {
  // site: 0
  for (std::string text : make_list()) {
    change_element();
    letters += text.size();
  }
  // proven: 'text'
  // becomes: for (const std::string& text : texts{long_text, long_text}) {
  // site: 0
  for (std::string text : texts{long_text, long_text}) {
    change_element();
    letters += text.size();
  }
  return copy_1.size() + copy_2.size() + copy_3.size() + copy_4.size() + copy_5.size() + copy_6.size() + copy_7.size() +
         copy_8.size() + letters;
}

// A class with elements of itself.
struct node {
  std::string name = long_text;
  std::vector<node> children;
};
std::size_t of_a_tree(const node& source) {
  node first;
  // proven: 'copy_1'
  // becomes: const node& copy_1 = first;
  // site: 0
  node copy_1 = first;
  change_element();
  // proven: 'copy_2'
  // becomes: const node& copy_2 = source;
  // site: 0
  node copy_2 = source;
  return copy_1.name.size() + copy_2.children.size();
}
