// check: tarn-move -Wno-unused-parameter -Wno-unused-variable
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
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
