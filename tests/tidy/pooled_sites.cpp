// check: tarn-pooled -Wno-unused-variable -Wno-delete-incomplete
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
// inserts: #include <tarn/pooled.hpp>
#include <type_traits>
#include <utility>

// proven: 'edited' is made on the heap of the thread
// becomes: struct edited : public tarn::pooled<edited> {
struct edited {
  edited() {}
  ~edited() {}
};
// review: 'trivial'
// becomes: struct trivial : public tarn::pooled<trivial> {
struct trivial {
  trivial() {}
};
struct later;
void delete_later(later* object) { delete object; }
struct later {
  later() {}
};
struct ended_by_hand {
  ended_by_hand() {}
  ~ended_by_hand() {}
};
struct ended_base {
  virtual ~ended_base() = default;
  virtual int number() const = 0;
};
struct ended_as_base : ended_base {
  int number() const override { return 3; }
};
struct ended_by_library {
  ended_by_library() {}
  ~ended_by_library() {}
};
struct freed_by_hand {
  freed_by_hand() {}
};
struct aggregate {
  int number = 0;
};
struct has_own_new {
  has_own_new() {}
  void* operator new(std::size_t bytes) { return std::malloc(bytes); }
  void operator delete(void* block) { std::free(block); }
};
struct inherits_new : has_own_new {
  inherits_new() {}
};
struct plain_base {
  plain_base() {}
};
struct on_plain_base : plain_base {
  on_plain_base() {}
};
struct asserted {
  asserted() {}
  int number = 0;
};
static_assert(std::is_standard_layout_v<asserted> && sizeof(asserted) == 4);
struct made_globally {
  made_globally() {}
};
struct freed_globally {
  freed_globally() {}
};
template <class Value>
struct of_a_template {
  explicit of_a_template(Value initial) : value(initial) {}
  Value value;
};
#define CLASS(name) \
  struct name {     \
    name() {}       \
  }
CLASS(of_a_macro);
struct outer {
  struct inner;
};
struct outer::inner {
  inner() {}
};
struct configured {
  configured() {}
#ifdef NDEBUG
  int number = 0;
#endif
};
int pooled(int number);
struct has_the_name {
  has_the_name() : number(pooled(3)) {}
  int number;
};
struct base_of_name {
  base_of_name() {}
  virtual ~base_of_name() {}
};
struct derived_with_name : base_of_name {
  int number() { return pooled(3); }
};
struct has_objects {
  has_objects() {}
  virtual ~has_objects() = default;
};
struct derived : has_objects {};
struct first_base {
  virtual ~first_base() = default;
};
struct second_base {
  virtual ~second_base() = default;
};
struct has_two_bases : first_base, second_base {};
struct placed {
  placed() {}
};
struct arena {};
void* operator new(std::size_t bytes, arena& memory);
struct base_of_placed {
  base_of_placed() {}
  virtual ~base_of_placed() {}
};
struct derived_placed : base_of_placed {};
struct base_of_ended {
  base_of_ended() {}
  virtual ~base_of_ended() {}
};
struct derived_ended : base_of_ended {};
struct constant {
  constexpr explicit constant(int initial) : number(initial) {}
  constexpr ~constant() {}
  int number;
};
constexpr int count() {
  const auto* const object = new constant(3);
  const int result = object->number;
  delete object;
  return result;
}
static_assert(count() == 3);
// proven: 'not_constant'
// becomes: struct not_constant : public tarn::pooled<not_constant> {
struct not_constant {
  constexpr not_constant() {}
  ~not_constant() {}
};
struct taken_over {
  taken_over() {}
};
struct replaced {
  replaced() {}
};
struct not_recorded {
  not_recorded() {}
};

template <class Value>
void use(const Value& value);

void objects() {
  // site: 0
  use(new edited);
  // site: 0
  use(new trivial);
  // no edit: delete does not know the class here
  // site: 0
  delete_later(new later);
  // no edit: the code ends the object without delete
  // site: 0
  auto* const by_hand = new ended_by_hand;
  by_hand->~ended_by_hand();
  // no edit: the code ends the object without delete
  // site: 0
  ended_base* const as_base = new ended_as_base;
  as_base->~ended_base();
  // no edit: the code ends the object without delete
  // site: 0
  auto* const by_library = new ended_by_library;
  std::destroy_at(by_library);
  // no edit: the code ends the object without delete
  // site: 0
  auto* const freed = new freed_by_hand;
  ::operator delete(freed);
  use(new not_recorded);
  // no edit: the class is an aggregate
  // site: 0
  use(new aggregate{3});
  // no edit: the class has its own operator new or delete
  // site: 0
  use(new has_own_new);
  // no edit: the class has its own operator new or delete
  // site: 0
  use(new inherits_new);
  // no edit: 'plain_base' has no virtual destructor
  // site: 0
  use(new on_plain_base);
  // no edit: an assertion speaks of the class
  // site: 0
  use(std::make_unique<asserted>());
  // no edit: ::new makes the object
  // site: 0
  use(::new made_globally);
  // no edit: ::delete frees the object
  // site: 0
  auto* const object = new freed_globally;
  ::delete object;
  // no edit: a template writes the class
  // site: 0
  use(new of_a_template<int>(3));
  // no edit: a macro writes the class
  // site: 0
  use(new of_a_macro);
  // no edit: the class is defined outside of its scope
  // site: 0
  use(new outer::inner);
  // no edit: the class differs from configuration to configuration
  // site: 0
  use(new configured);
  // no edit: tarn::pooled has this name, too
  // site: 0
  use(new has_the_name);
  // no edit: tarn::pooled has this name, too
  // site: 0
  use(new base_of_name);
  // no edit: the class is of a library
  // site: 0
  use(new std::string("text"));
  // no edit: 'has_objects' may have objects of its own
  // site: 0
  use(new derived);
  use(new has_objects);
  // no edit: a class has it and another base
  // site: 0
  use(new first_base);
  // no edit: the code chooses the memory here
  // site: 0
  use(new placed);
  use(new (std::malloc(sizeof(placed))) placed);
  // no edit: the code chooses the memory here
  // site: 0
  use(new base_of_placed);
  arena memory;
  use(new (memory) derived_placed);
  // no edit: ::delete frees the object
  // site: 0
  use(new base_of_ended);
  ::delete new derived_ended;
  // no edit: the compiler may run this code
  // site: 0
  use(new constant(3));
  // site: 0
  use([] { return new not_constant; }());
  // no edit: a shared_ptr takes it over: std::make_shared saves more
  // site: 0
  std::shared_ptr<taken_over> shared(new taken_over);
  // no edit: a shared_ptr takes it over
  // site: 0
  std::shared_ptr<replaced>().reset(new replaced);
  // site: 0
  use(new int(3));
  // site: 0
  use(std::make_shared<not_recorded>());
}
