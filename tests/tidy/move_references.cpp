// check: tarn-move -Wno-unused-parameter -Wno-unused-variable
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <type_traits>
// inserts: #include <utility>
#include <vector>

// Objects whose own functions store their address, and objects that refer to themselves.
const std::string long_text = "a text that is longer than a short one";
std::vector<std::string> results;
void print(const std::string& text);

struct widget;
std::vector<widget*> registry;
struct widget {
  std::string name;
  explicit widget(const std::string& text) : name(text) { registry.push_back(this); }
};
std::vector<widget> widgets;
void by_a_constructor() {
  widget object("name");
  // review: 'object' is used here for the last time
  // becomes: widgets.push_back(std::move(object));
  // site: 0
  widgets.push_back(object);
  for (const widget* next : registry) print(next->name);
}
void of_an_element() {
  std::vector<widget> objects;
  objects.emplace_back("name");
  std::list<std::vector<widget>> lists;
  // review: 'objects'
  // becomes: lists.push_back(std::move(objects));
  // site: 0
  lists.push_back(objects);
  print("later");
}

struct line {
  std::string text;
};
line* first;
std::vector<line> make_lines() {
  std::vector<line> result;
  result.push_back({long_text});
  first = &result.front();
  return result;
}
std::vector<std::vector<line>> pages;
void print_first() { print(first->text); }
void by_the_function_that_made_it() {
  auto lines = make_lines();
  // review: 'lines'
  // becomes: pages.push_back(std::move(lines));
  // site: 0
  pages.push_back(lines);
  print_first();
}
void of_nothing_later() {
  auto lines = make_lines();
  // proven: 'lines'
  // becomes: pages.push_back(std::move(lines));
  // site: 0
  pages.push_back(lines);
}

struct listed {
  std::string name = long_text;
  void enlist() { addresses.push_back(&name); }
  void add(const std::string& text) { name += text; }
  static std::vector<std::string*> addresses;
};
std::vector<listed> lists;
void by_a_function() {
  listed object;
  object.enlist();
  // review: 'object'
  // becomes: lists.push_back(std::move(object));
  // site: 0
  lists.push_back(object);
  print(*listed::addresses.back());
}
void by_no_function() {
  listed object;
  object.add(long_text);
  // proven: 'object'
  // becomes: lists.push_back(std::move(object));
  // site: 0
  lists.push_back(object);
  print("later");
}

// A function of the program whose body stores nothing.
void add_letter(std::string& text) { text += 'a'; }
void by_a_free_function() {
  std::string text = long_text;
  add_letter(text);
  // proven: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  print("later");
}

// A pointer or a view may lead to another part of the object.
struct parsed {
  std::string text;
  const char* cursor = nullptr;
};
parsed parse(const char* text);
void of_a_pointer(std::vector<parsed>& list) {
  parsed object = parse("short");
  // review: 'object'
  // becomes: list.push_back(std::move(object));
  // site: 0
  list.push_back(object);
  print(list.back().cursor);
}
struct pieces {
  std::string text;
  std::vector<std::string_view> parts;
};
pieces divide(const char* text);
void of_a_view(std::vector<pieces>& list) {
  pieces object = divide("short");
  // review: 'object'
  // becomes: list.push_back(std::move(object));
  // site: 0
  list.push_back(object);
  std::map<std::string, const char*> table;
  table["key"] = "value";
  std::vector<std::map<std::string, const char*>> tables;
  // review: 'table'
  // becomes: tables.push_back(std::move(table));
  // site: 0
  tables.push_back(table);
}
// The memory of a list of pointers to objects has no object of their class.
void of_pointers(std::vector<std::vector<const widget*>>& lists_of_pointers) {
  std::vector<const widget*> pointers(3, registry[0]);
  // proven: 'pointers'
  // becomes: lists_of_pointers.push_back(std::move(pointers));
  // site: 0
  lists_of_pointers.push_back(pointers);
}

// A class with elements of itself.
struct node {
  std::string name = long_text;
  std::vector<node> children;
};
void of_a_tree(std::vector<node>& list) {
  node object;
  object.children.emplace_back();
  // proven: 'object'
  // becomes: list.push_back(std::move(object));
  // site: 0
  list.push_back(object);
  print("later");
}

// The copy of an element, a key or a comparison may do more than take memory.
int copies = 0;
struct counting {
  std::string text = long_text;
  counting() = default;
  counting(const counting& source) : text(source.text) { ++copies; }
  counting& operator=(const counting& source) = default;
};
struct assigned {
  std::string text = long_text;
  assigned() = default;
  assigned(const assigned& source) = default;
  assigned& operator=(const assigned& source) {
    text = source.text;
    ++copies;
    return *this;
  }
};
struct counting_order {
  std::string name = long_text;
  counting_order() = default;
  counting_order(const counting_order& source) : name(source.name) { ++copies; }
  bool operator()(int left, int right) const { return left < right; }
};
struct section {
  std::map<int, counting> parts;
};
void of_copied_elements(std::list<std::vector<counting>>& list, std::vector<section>& sections) {
  std::vector<counting> elements(2);
  // review: 'elements'
  // becomes: list.push_back(std::move(elements));
  // site: 0
  list.push_back(elements);
  section values;
  // review: 'values'
  // becomes: sections.push_back(std::move(values));
  // site: 0
  sections.push_back(values);
}
void of_assigned_elements(std::vector<assigned>& list) {
  std::vector<assigned> elements(2);
  // review: 'elements'
  // becomes: list = std::move(elements);
  // site: 0
  list = elements;
}
void of_a_comparison(std::vector<std::set<int, counting_order>>& list) {
  std::set<int, counting_order> numbers;
  // review: 'numbers'
  // becomes: list.push_back(std::move(numbers));
  // site: 0
  list.push_back(numbers);
}

// Objects that end after the copy, or that a structured binding names.
struct guard {
  const std::string* text = nullptr;
  int number = 0;
  void set(const std::string& value) { text = &value; }
  ~guard() { print(text == nullptr ? long_text : *text); }
};
guard make_guard();
void before_a_longer_life() {
  std::string text = long_text;
  guard&& last = make_guard();
  last.set(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}
void beside_a_parameter(std::string text, guard last) {
  last.set(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}
struct holder_of_pointer {
  const std::string* text = nullptr;
  int number = 0;
  void set(const std::string& value) { text = &value; }
};
std::size_t before_a_binding() {
  std::string text = long_text;
  holder_of_pointer object;
  object.set(text);
  auto& [part, number] = object;
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  return part->size();
}
const std::string* address = nullptr;
void behind_a_loop_with_a_binding() {
  std::map<std::string, std::string> table{{long_text, long_text}};
  for (const auto& [key, value] : table) address = &value;
  std::vector<std::map<std::string, std::string>> tables;
  // review: 'table'
  // becomes: tables.push_back(std::move(table));
  // site: 0
  tables.push_back(table);
  print(*address);
}

// A function that gets the copy may differ for an rvalue.
void explicit_arguments(int& total) {
  std::string text = long_text;
  // site: 0
  const auto pair = std::make_pair<std::string&, int&>(text, total);
  print(pair.first);
}
template <class Value>
struct own_allocator {
  using value_type = Value;
  own_allocator() = default;
  template <class Other>
  own_allocator(const own_allocator<Other>&) {}
  Value* allocate(std::size_t count);
  void deallocate(Value* values, std::size_t count);
  bool operator==(const own_allocator&) const { return true; }
};
struct counting_list : std::list<std::string> {
  void push_back(const std::string& text);
  void push_back(std::string&& text);
};
void other_containers(std::vector<std::string, own_allocator<std::string>>& list,
                      std::stack<std::string, counting_list>& stack, std::queue<std::string>& queue) {
  std::string text = long_text;
  // site: 0
  list.push_back(text);
  std::string second = long_text;
  // site: 0
  stack.push(second);
  std::string third = long_text;
  // proven: 'third'
  // becomes: queue.push(std::move(third));
  // site: 0
  queue.push(third);
}
std::vector<int> frame(4);
int* const first_number = frame.data();
void into_an_older_object(std::vector<int> numbers, std::vector<int>& target, std::vector<float>& floats) {
  std::vector<int> copy = numbers;
  // review: 'numbers'
  // becomes: frame = std::move(numbers);
  // site: 0
  frame = numbers;
  // review: 'copy'
  // becomes: target = std::move(copy);
  // site: 0
  target = copy;
  std::vector<float> fractions(3);
  // proven: 'fractions'
  // becomes: floats = std::move(fractions);
  // site: 0
  floats = fractions;
}
// Each of these may name the same object, or one with a part of the type.
struct two_lists {
  std::vector<int> upper, lower;
};
void by_other_names(std::vector<int>* pointer, bool is_second, two_lists& target, std::vector<std::vector<int>>& rows) {
  std::vector<int> numbers(3);
  // review: 'numbers'
  // becomes: *pointer = std::move(numbers);
  // site: 0
  *pointer = numbers;
  std::vector<int> second(3);
  // review: 'second'
  // becomes: (is_second ? *pointer : frame) = std::move(second);
  // site: 0
  (is_second ? *pointer : frame) = second;
  two_lists third{{1}, {2}};
  // review: 'third'
  // becomes: target = std::move(third);
  // site: 0
  target = third;
  const auto row = rows.begin();
  std::vector<int> fourth(3);
  // review: 'fourth'
  // becomes: *row = std::move(fourth);
  // site: 0
  *row = fourth;
}

// std::move may choose another overload, or none.
struct mailbox {
  std::vector<std::string> messages;
  void post(std::string text, long priority) { messages.push_back(text + std::to_string(priority)); }
  void post(std::string&& text, int priority) { messages.push_back(text + std::to_string(priority + 1)); }
  void put(std::string text) { messages.push_back(text); }
  void put(const char* text) { messages.push_back(text); }
  void put(std::string text, std::string second) { messages.push_back(text + second); }
};
template <class Value>
void send(std::string key, const Value& value) {
  print(key + std::to_string(value));
}
template <class Value>
void send(std::string&& key, Value&& value) {
  print(key + std::to_string(value + 1));
}
struct message {
  std::string text;
  explicit message(std::string value) : text(value + "copied") {}
  template <class Value>
    requires(!std::is_lvalue_reference_v<Value>)
  explicit message(Value&& value) : text(value + "moved") {}
};
struct callable {
  void operator()(std::string text, long number) const { print(text + std::to_string(number)); }
  void operator()(std::string&& text, int number) const { print(text + std::to_string(number + 1)); }
};
void by_overloads(mailbox& box) {
  std::string text = long_text;
  // review: 'text'
  // becomes: box.post(std::move(text), 1);
  // site: 0
  box.post(text, 1);
  std::string third = long_text;
  // review: 'third'
  // becomes: send(std::move(third), 1);
  // site: 0
  send(third, 1);
  std::string fourth = long_text;
  // review: 'fourth'
  // becomes: const message object(std::move(fourth));
  // site: 0
  const message object(fourth);
  std::string fifth = long_text;
  const callable target;
  // review: 'fifth'
  // becomes: target(std::move(fifth), 1);
  // site: 0
  target(fifth, 1);
  std::string sixth = long_text;
  // proven: 'sixth'
  // becomes: box.put(std::move(sixth));
  // site: 0
  box.put(sixth);
}

// Another instantiation may make no copy.
struct queue_sink {
  std::vector<std::string> messages;
  void write(std::string text) { messages.push_back(text); }
};
struct console_sink {
  void write(const std::string& text) { print(text); }
};
template <class Sink>
void of_templates(Sink& sink, queue_sink& queue) {
  std::string text = long_text;
  // no edit: another instantiation may make no copy here
  // site: 0
  sink.write(text);
  std::string second = long_text;
  // proven: 'second'
  // becomes: queue.write(std::move(second));
  // site: 0
  queue.write(second);
}
template void of_templates(queue_sink& sink, queue_sink& queue);
template void of_templates(console_sink& sink, queue_sink& queue);

// The parts of an aggregate and of a pair.
struct header {
  std::string name, value;
  int number = 0;
};
void take(const header& object) { print(object.name); }
void take(const message& object, int number = 0) { print(object.text + std::to_string(number)); }
std::pair<std::string, int> of_lists(std::vector<header>& list, int number) {
  std::string name = long_text, value = long_text;
  // proven: 'name'
  // proven: 'value'
  // becomes: const header object{std::move(name), std::move(value)};
  // site: 0
  const header object{name, value};
  print(object.name);
  std::string second = long_text;
  // proven: 'second'
  // becomes: list.push_back({std::move(second), object.value, number});
  // site: 0
  list.push_back({second, object.value, number});
  std::string third = long_text;
  // review: 'third'
  // becomes: take({std::move(third), object.value});
  // site: 0
  take({third, object.value});
  std::string fourth = long_text;
  // no edit: 'fourth' has another use in this statement
  // site: 0
  list.push_back({fourth, fourth.substr(3)});
  std::string last = long_text;
  // proven: 'last'
  // becomes: return {std::move(last), number};
  // site: 0
  return {last, number};
}
