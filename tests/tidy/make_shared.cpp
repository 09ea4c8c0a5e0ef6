// check: tarn-make-shared
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

struct base {
  virtual ~base() = default;
};
struct object : base {
  object() {}
  explicit object(int, const std::string& = "") {}
  object(const char*, std::unique_ptr<int>) {}
  explicit object(std::vector<int>) {}
};
struct plain {
  int number = 0;
  std::string text;
};
template <class Value>
struct box {
  Value value;
  explicit box(Value initial) : value(std::move(initial)) {}
};
using object_pointer = std::shared_ptr<object>;
void use(const object_pointer& pointer);
int number();

namespace proven {

class owner {
 public:
  // proven: 'object' and its counts in one block
  // becomes: owner() : member_(std::make_shared<object>(1)) {}
  owner() : member_(new object(1)) {}
  void replace() {
    // proven: 'object'
    // becomes: member_ = std::make_shared<object>();
    member_.reset(new object);
  }

 private:
  object_pointer member_;
  // proven: 'object'
  // becomes: std::shared_ptr<base> second_{std::make_shared<object>(2)};
  std::shared_ptr<base> second_{new object(2)};
};

std::shared_ptr<object> returned(int value) {
  // proven: 'object'
  // becomes: return std::make_shared<object>(value + number());
  return std::shared_ptr<object>(new object(value + number()));
}

void forms(const std::string& name) {
  // proven: 'object'
  // becomes: std::shared_ptr<object> declared(std::make_shared<object>());
  std::shared_ptr<object> declared(new object);
  // proven: 'object'
  // becomes: auto assigned = std::make_shared<object>(1, name);
  auto assigned = std::shared_ptr<object>(new object(1, name));
  // proven: 'object'
  // becomes: auto alias = std::make_shared<object>(1, name + "x");
  auto alias = object_pointer(new object(1, name + "x"));
  // proven: 'object'
  // becomes: auto braces = std::make_shared<object>("text", std::make_unique<int>(1));
  auto braces = std::shared_ptr<object>{new object("text", std::make_unique<int>(1))};
  // proven: 'object'
  // becomes: use(std::make_shared<object>());
  use(std::shared_ptr<object>(new object{}));
  // proven: 'object'
  // becomes: std::shared_ptr<base> as_base(std::make_shared<object>(3));
  std::shared_ptr<base> as_base(new object(3));
  // proven: 'object'
  // becomes: auto constant = std::shared_ptr<const object>(std::make_shared<object>(3));
  auto constant = std::shared_ptr<const object>(new object(3));
  // proven: 'object'
  // becomes: auto cast = std::shared_ptr<base>(std::make_shared<object>(3));
  auto cast = std::shared_ptr<base>(new object(3));
  // proven: 'plain'
  // becomes: std::shared_ptr<plain> value(std::make_shared<plain>());
  std::shared_ptr<plain> value(new plain);
  // proven: 'int'
  // becomes: std::shared_ptr<int> count(std::make_shared<int>(5));
  std::shared_ptr<int> count(new int(5));
  // proven: 'box<std::string>'
  // becomes: std::shared_ptr<box<std::string>> boxed(std::make_shared<box<std::string>>("text"));
  std::shared_ptr<box<std::string>> boxed(new box<std::string>("text"));
  // proven: 'object'
  // becomes: if (number() > 1) declared = std::make_shared<object>(4);
  if (number() > 1) declared.reset(new object(4));
  // proven: 'object'
  // becomes: std::function<object_pointer()> later = [] { return std::make_shared<object>(6); };
  std::function<object_pointer()> later = [] { return object_pointer(new object(6)); };
}

// The text of the string stays where it is: the view refers to no temporary.
struct view {
  std::string_view text;
  explicit view(std::string_view initial) : text(initial) {}
};
struct reference {
  const std::string& text;
  explicit reference(const std::string& initial) : text(initial) {}
};
void lasting_arguments(const std::string& name) {
  // proven: 'view'
  // becomes: std::shared_ptr<view> of_string(std::make_shared<view>(name));
  std::shared_ptr<view> of_string(new view(name));
  // proven: 'reference'
  // becomes: std::shared_ptr<reference> of_name(std::make_shared<reference>(name));
  std::shared_ptr<reference> of_name(new reference(name));
  // proven: 'reference'
  // becomes: std::shared_ptr<reference> of_temporary(std::make_shared<reference>(name + "x"));
  std::shared_ptr<reference> of_temporary(new reference(name + "x"));
}

struct shares : std::enable_shared_from_this<shares> {
  shares() {}
};
// Its own weak_ptr ends with the object.
auto itself() {
  // proven: 'shares'
  // becomes: return std::make_shared<shares>();
  return std::shared_ptr<shares>(new shares);
}

}  // namespace proven

namespace reviewed {

struct reference {
  const std::string& text;
  explicit reference(const std::string& initial = "text") : text(initial) {}
};
void use(const std::shared_ptr<reference>& pointer);

// The string would end inside of std::make_shared.
void temporary() {
  // review: 'reference'
  // becomes: use(std::make_shared<reference>("text"));
  use(std::shared_ptr<reference>(new reference("text")));
  // review: 'reference'
  // becomes: use(std::make_shared<reference>());
  use(std::shared_ptr<reference>(new reference()));
}

// A parameter ends there, too, and not behind use().
struct guard {
  explicit guard(int) {}
  guard(const guard&) {}
  ~guard() {}
};
struct taker {
  explicit taker(guard) {}
  explicit taker(std::shared_ptr<guard>) {}
  explicit taker(std::unique_ptr<guard>) {}
};
struct letters {
  const char* first;
  explicit letters(std::string text) : first(text.c_str()) {}
};
void use(const std::shared_ptr<taker>& pointer);
void use(const std::shared_ptr<letters>& pointer);
void parameters(const guard& first, const std::shared_ptr<guard>& shared, const std::string& name) {
  // review: 'taker'
  // becomes: use(std::make_shared<taker>(first));
  use(std::shared_ptr<taker>(new taker(first)));
  // proven: 'taker'
  // becomes: use(std::make_shared<taker>(shared));
  use(std::shared_ptr<taker>(new taker(shared)));
  // review: 'taker'
  // becomes: use(std::make_shared<taker>(std::make_shared<guard>(1)));
  use(std::shared_ptr<taker>(new taker(std::make_shared<guard>(1))));
  // review: 'taker'
  // becomes: use(std::make_shared<taker>(std::make_unique<guard>(2)));
  use(std::shared_ptr<taker>(new taker(std::make_unique<guard>(2))));
  // review: 'letters'
  // becomes: use(std::make_shared<letters>(name));
  use(std::shared_ptr<letters>(new letters(name)));
}

// An assignment evaluates its right side first.
void order(std::vector<object_pointer>& list, std::size_t next) {
  // review: 'object'
  // becomes: list[next++] = std::make_shared<object>(static_cast<int>(next));
  list[next++].reset(new object(static_cast<int>(next)));
}
struct node {
  explicit node(int) {}
  std::shared_ptr<node> next;
};
void order_of_pointer(node* last) {
  // proven: 'node'
  // becomes: last->next = std::make_shared<node>(2);
  last->next.reset(new node(2));
  // review: 'node'
  // becomes: last->next = std::make_shared<node>((last = nullptr, 1));
  last->next.reset(new node((last = nullptr, 1)));
}

}  // namespace reviewed

namespace silent {

struct private_constructor {
  static std::shared_ptr<private_constructor> make() {
    return std::shared_ptr<private_constructor>(new private_constructor());
  }

 private:
  private_constructor() {}
};
class private_destructor {
 public:
  private_destructor() {}
  static void destroy(private_destructor* object) { delete object; }

 private:
  ~private_destructor() {}
};
struct own_new {
  own_new() {}
  static void* operator new(std::size_t size) { return ::operator new(size); }
  static void operator delete(void* block) { ::operator delete(block); }
};
struct derived_new : own_new {
  derived_new() {}
};
struct large {
  char bytes[4096];
};
struct lists {
  explicit lists(std::initializer_list<int>) {}
  lists(int, int) {}
  explicit lists(std::vector<int>) {}
};
struct pointers {
  explicit pointers(int*, int) {}
  explicit pointers(void (*)(int)) {}
};
void overloaded(int);
void overloaded(long);
struct bits {
  int first : 3;
  static const int constant = 4;
  static const int second_constant = 5;
};
struct aggregate {
  int first, second;
};
struct fixed {
  fixed() {}
  fixed(const fixed&) = delete;
};
struct takes_fixed {
  explicit takes_fixed(fixed) {}
};
struct hidden_base : private base {
  struct takes_base {
    explicit takes_base(base*) {}
  };
  auto make() { return std::shared_ptr<takes_base>(new takes_base(this)); }
};

struct located {
  explicit located(int, std::source_location = std::source_location::current()) {}
};
struct located_by_compiler {
  explicit located_by_compiler(int, const char* = __builtin_FUNCTION()) {}
};
struct guard {
  explicit guard(int) {}
  guard(const guard&) {}
  ~guard() {}
};
struct takes_guard {
  explicit takes_guard(guard) {}
  explicit takes_guard(const std::pair<guard, int>&) {}
};
struct takes_guards {
  explicit takes_guards(std::pair<guard, int>) {}
};
struct empty {
  empty(empty&&) {}
  ~empty() {}
};
struct takes_empty {
  explicit takes_empty(std::tuple<empty>) {}
};
std::tuple<empty> make_empty();
guard make_guard();
std::pair<guard, int> make_guards();
struct computed {
  template <std::size_t length>
  consteval computed(const char (&)[length]) {}
};
struct takes_computed {
  explicit takes_computed(computed) {}
};
class opaque {
 public:
  auto make() { return std::shared_ptr<object>(new object(*this)); }

 private:
  operator int() const { return 3; }
};
struct __attribute__((packed)) packed {
  char letter;
  int number;
};
template <class Value>
Value twice(Value value) {
  return value * 2;
}
struct takes_pointers {
  explicit takes_pointers(const int*) {}
  explicit takes_pointers(int (*)(int)) {}
};
void arguments(packed& bytes, int length) {
  std::shared_ptr<located> line(new located(1));
  std::shared_ptr<located_by_compiler> function_name(new located_by_compiler(1));
  std::shared_ptr<takes_guard> second_move(new takes_guard(make_guard()));
  std::shared_ptr<takes_guards> second_moves(new takes_guards(make_guards()));
  std::shared_ptr<takes_empty> empty_moves(new takes_empty(make_empty()));
  std::shared_ptr<takes_guard> conversion(new takes_guard(guard(1)));
  std::shared_ptr<takes_computed> constant(new takes_computed("text"));
  std::shared_ptr<object> packed_member(new object(bytes.number));
  int array[length];
  std::shared_ptr<takes_pointers> elements(new takes_pointers(array));
  std::shared_ptr<takes_pointers> function(new takes_pointers(twice));
  std::shared_ptr<object> choice(new object(length > 3 ? bits::constant : bits::second_constant));
  std::shared_ptr<box<int>> deduced(new box(3));
}

void objects(bits& bit) {
  std::shared_ptr<private_destructor> destroyed(new private_destructor, &private_destructor::destroy);
  std::shared_ptr<object> deleted(new object, [](object* pointer) { delete pointer; });
  std::shared_ptr<own_new> with_new(new own_new);
  std::shared_ptr<derived_new> derived(new derived_new);
  std::shared_ptr<large> memory(new large);
  std::shared_ptr<lists> list(new lists{1, 2});
  std::shared_ptr<lists> vector(new lists({1, 2, 3}));
  std::shared_ptr<pointers> zero(new pointers(0, 0));
  std::shared_ptr<pointers> function(new pointers(overloaded));
  std::shared_ptr<object> bit_field(new object(bit.first));
  std::shared_ptr<object> constant(new object(bits::constant));
  std::shared_ptr<aggregate> braces(new aggregate{1, 2});
  std::shared_ptr<takes_fixed> immovable(new takes_fixed(fixed()));
  std::shared_ptr<int[]> array(new int[3]);
  std::shared_ptr<const object> constant_object(new const object(1));
  std::shared_ptr<object> without_exceptions(new (std::nothrow) object);
  std::shared_ptr<int> automatic(new auto(1));
  std::unique_ptr<object> unique(new object);
  auto* raw = new object;
  std::shared_ptr<object> from_raw(raw);
  int* pointer = nullptr;
  (pointer == nullptr) ? from_raw.reset(new object(1)) : void();
}

template <class Value>
std::shared_ptr<Value> any_value() {
  return std::shared_ptr<Value>(new Value());
}
template std::shared_ptr<object> any_value<object>();
template <class Value>
std::shared_ptr<object> any_count(Value value) {
  return std::shared_ptr<object>(new object(value));
}
template std::shared_ptr<object> any_count(int);

#define MAKE(type) std::shared_ptr<type>(new type)
#define NEW(type) new type
auto macros() {
  std::shared_ptr<object> pointer(NEW(object));
  return MAKE(object);
}

// The memory would stay until the last weak_ptr has gone.
struct observed {
  observed() {}
};
struct observed_child : observed {
  observed_child() {}
};
std::vector<std::weak_ptr<observed>> observers;
void observe() {
  std::shared_ptr<observed> object(new observed);
  std::shared_ptr<observed> child(new observed_child);
  observers.push_back(object);
}
std::vector<std::weak_ptr<long>> numbers;
void observe_number() {
  std::shared_ptr<long> number(new long(3));
  numbers.push_back(number);
}
struct watched : std::enable_shared_from_this<watched> {
  watched() {}
};
auto watch() {
  std::shared_ptr<watched> object(new watched);
  return object->weak_from_this();
}

}  // namespace silent
