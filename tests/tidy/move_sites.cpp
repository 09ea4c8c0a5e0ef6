// check: tarn-move -Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <regex>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
// inserts: #include <utility>
#include <vector>

using texts = std::vector<std::string>;
texts results;
std::string global_text;
const std::string* address = nullptr;
std::string_view view;
std::function<void()> later;
void print(const std::string& text);
void fill(std::string& text);
void consume(std::string text);

struct has_own_end {
  std::string text;
  ~has_own_end() { print(text); }
};
struct has_own_copy {
  std::string text;
  has_own_copy() = default;
  has_own_copy(const has_own_copy& source) : text(source.text) {}
};
struct watcher {
  explicit watcher(const std::string& text) : text_(text) {}
  ~watcher() { print(text_); }
  const std::string& text_;
};
struct plain {
  std::string text;
};

// The page has one edit, so that the edited page is compiled.
void edited() {
  std::string text = global_text + "some text";
  // proven: 'text' is used here for the last time
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}
void not_recorded() {
  std::string text = global_text + "some text";
  results.push_back(text);
}

void used_again(bool is_long) {
  std::string text = global_text;
  // no edit: 'text' is used again
  // site: 0
  results.push_back(text);
  print(text);
  std::string second = global_text;
  if (is_long) {
    // no edit: 'second' is used again
    // site: 0
    results.push_back(second);
  }
  print(second);
  std::string third = global_text;
  // no edit: 'third' has another use in this statement
  // site: 0
  results.insert(results.begin() + static_cast<long>(third.size()), third);
}
void in_a_loop(const texts& list) {
  std::string text = global_text;
  for (const std::string& part : list) {
    // no edit: a loop may use it again
    // site: 0
    results.push_back(text);
    text = part;
  }
  std::string second = global_text;
  // no edit: a loop may use it again
  // site: 0
  do results.push_back(second);
  while (results.size() < 10);
}
void in_a_handler() {
  std::string text = global_text;
  try {
    // no edit: a handler or a lambda is around the copy
    // site: 0
    results.push_back(text);
    return;
  } catch (const std::bad_alloc&) {
    print(text);
  }
}
void by_a_jump(int kind) {
  std::string text = global_text;
repeated:
  // no edit: the function has labels or can be suspended
  // site: 0
  results.push_back(text);
  if (--kind > 0) goto repeated;
}
void falls_through(int kind) {
  std::string text = global_text;
  switch (kind) {
    case 0:
      // no edit: 'text' is used again
      // site: 0
      results.push_back(text);
      [[fallthrough]];
    default: print(text);
  }
}
void configured(int kind) {
  std::string text = global_text;
  // no edit: the block differs from configuration to configuration
  // site: 0
  results.push_back(text);
#ifdef NEVER
  print(text);
#endif
}
void breaks_out(int kind) {
  std::string text = global_text;
  switch (kind) {
    case 0:
      // no edit: 'text' is used again
      // site: 0
      results.push_back(text);
      break;
    default: break;
  }
  print(text);
}
class holder {
 public:
  // no edit: 'text' is used again
  // site: 0
  holder(std::string text) : text_(text) { print(text); }

 private:
  std::string text_;
};

// Something that still runs may refer to the object.
void references() {
  std::string text = global_text;
  const std::string& alias = text;
  // review: 'text' is used here for the last time
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  print(alias);
  std::string second = global_text;
  address = &second;
  // review: 'second'
  // becomes: results.push_back(std::move(second));
  // site: 0
  results.push_back(second);
  std::string third = global_text;
  view = third;
  // review: 'third'
  // becomes: results.push_back(std::move(third));
  // site: 0
  results.push_back(third);
  std::string fourth = global_text;
  const char* letters = fourth.c_str();
  // review: 'fourth'
  // becomes: results.push_back(std::move(fourth));
  // site: 0
  results.push_back(fourth);
  print(letters);
}
void more_references() {
  std::string text = global_text;
  later = [&text] { print(text); };
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  later();
  std::string second = global_text;
  const watcher observer(second);
  // review: 'second'
  // becomes: results.push_back(std::move(second));
  // site: 0
  results.push_back(second);
  std::string third = global_text;
  std::vector<const char*> pointers;
  pointers.push_back(third.c_str());
  // review: 'third'
  // becomes: results.push_back(std::move(third));
  // site: 0
  results.push_back(third);
  print(pointers[0]);
  std::string fourth = global_text;
  std::smatch match;
  std::regex_search(fourth, match, std::regex("a"));
  // review: 'fourth'
  // becomes: results.push_back(std::move(fourth));
  // site: 0
  results.push_back(fourth);
  print(match.str());
  texts list = results;
  for (const std::string& part : list) address = &part;
  std::vector<texts> lists;
  // review: 'list'
  // becomes: lists.push_back(std::move(list));
  // site: 0
  lists.push_back(list);
  print(*address);
}
// The function may have static_copy the reference.
void argument() {
  std::string text;
  fill(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  print("later");
}
void store(std::string* text);
void argument_by_address() {
  std::string text;
  store(&text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  print("later");
  std::string second;
  std::vector<std::string*> pointers;
  pointers.push_back(&second);
  // review: 'second'
  // becomes: results.push_back(std::move(second));
  // site: 0
  results.push_back(second);
  std::string third;
  const auto number = reinterpret_cast<std::uintptr_t>(&third);
  // review: 'third'
  // becomes: results.push_back(std::move(third));
  // site: 0
  results.push_back(third);
  print(*reinterpret_cast<std::string*>(number));
}
void argument_of_the_sink() {
  std::string text;
  fill(text);
  // review: 'text'
  // becomes: consume(std::move(text));
  // site: 0
  consume(text);
}

// A move would do something else than a copy, or would save nothing.
void types(std::pmr::memory_resource& memory) {
  has_own_end end;
  std::vector<has_own_end> ends;
  // site: 0
  ends.push_back(end);
  has_own_copy copy;
  std::vector<has_own_copy> copies;
  // site: 0
  copies.push_back(copy);
  std::pmr::string text(&memory);
  // site: 0
  std::pmr::string second = text;
  const std::string constant = global_text;
  // no edit: 'constant' is constant
  // site: 0
  results.push_back(constant);
  std::string static_text = global_text;
  static std::string static_copy = global_text;
  // site: 0
  results.push_back(static_copy);
  std::vector<std::shared_ptr<int>> pointers;
  std::vector<std::vector<std::shared_ptr<int>>> lists;
  // review: 'pointers'
  // becomes: lists.push_back(std::move(pointers));
  // site: 0
  lists.push_back(pointers);
  std::string key = global_text;
  std::map<std::string, int> numbers;
  // site: 0
  numbers[key] = 3;
}
void other_functions() {
  std::string text = global_text;
  const auto add = [&text] {
    // no edit: 'text' is a variable of another function
    // site: 0
    results.push_back(text);
  };
  add();
  std::string repeated = global_text;
  // site: 0
  results.insert(results.end(), 3, repeated);
}
#define ADD(list, value) list.push_back(value)
void macros() {
  std::string text = global_text;
  // no edit: a macro writes this code
  // site: 0
  ADD(results, text);
}
template <class Value>
void of_a_template(const Value& value) {
  Value copy = value;
  std::vector<Value> list;
  // no edit: 'copy' may be of another type in another instantiation
  // site: 0
  list.push_back(copy);
}
template void of_a_template(const std::string& value);

// A function of the program that the library runs may have stored a reference, or may use one.
void by_library_1(const std::function<void(const std::string&)>& store_text, const std::function<void()>& show) {
  std::string text = global_text;
  store_text(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  show();
}
void by_library_2(const std::function<void()>& show) {
  std::string text = global_text;
  fill(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  show();
}
void by_library_3(void (*show)()) {
  std::string text = global_text;
  fill(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  std::invoke(show);
}
void by_library_4(std::vector<int>& numbers, void (*show)(int)) {
  std::string text = global_text;
  fill(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  std::for_each(numbers.begin(), numbers.end(), show);
}
void by_library_5(void (*show)()) {
  std::string text = global_text;
  fill(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  std::thread(show).join();
}
void by_library_6() {
  std::string text = global_text;
  std::vector<std::size_t> numbers;
  fill(text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  numbers.push_back(address->size());
}
void by_library_7() {
  std::string text = global_text;
  std::size_t letters = 0;
  fill(text);
  // proven: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  for (const std::string& next : results) letters += next.size();
}
// A container of views keeps what it gets.
void by_library_8() {
  std::string text = global_text;
  std::map<std::string_view, int> views;
  views[text] = 1;
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  results.resize(views.size());
}
void by_library_9() {
  std::string text = global_text;
  std::map<std::string_view, int> views;
  views.emplace(text, 1);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  results.resize(views.size());
}
void by_library_10() {
  std::string text = global_text;
  std::map<int, std::string_view> views;
  views.insert_or_assign(1, text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  results.resize(views.size());
}
void by_library_11() {
  std::string text = global_text;
  std::map<const char*, int> views;
  views[text.c_str()] = 1;
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  results.resize(views.size());
}
void by_library_12() {
  std::string text = global_text;
  std::vector<std::string_view> views;
  views.assign(2, text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  results.resize(views.size());
}
void by_library_13(int* number) {
  std::string text = global_text;
  std::map<std::string, int*> pointers;
  pointers[text] = number;
  // proven: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  results.resize(pointers.size());
}

// A function that gets an iterator, an address or a variable to write to leaves what it reads there.
void by_library_14(texts list) {
  std::vector<std::string_view> views;
  std::copy(list.begin(), list.end(), std::back_inserter(views));
  std::vector<texts> lists;
  // review: 'list'
  // becomes: lists.push_back(std::move(list));
  // site: 0
  lists.push_back(list);
  results.emplace_back(views[0]);
}
void by_library_15(std::vector<std::string_view>& views, std::string text) {
  std::replace(views.begin(), views.end(), std::string_view(), std::string_view(text));
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}
void by_library_16(std::vector<std::string_view>& views, std::string text) {
  std::fill(views.begin(), views.end(), text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}
void by_library_17(std::vector<std::string_view>& views, std::string text) {
  std::ranges::fill(views, text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}
void by_library_18(std::string_view& last, std::string text) {
  std::construct_at(&last, text);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}
void by_library_19(texts list, std::set<std::string_view>& views) {
  std::set_difference(list.begin(), list.end(), results.begin(), results.end(), std::inserter(views, views.end()));
  std::vector<texts> lists;
  // review: 'list'
  // becomes: lists.push_back(std::move(list));
  // site: 0
  lists.push_back(list);
}
void by_library_20(std::string_view* views, plain object) {
  std::copy_n(&object.text, 1, views);
  std::vector<plain> objects;
  // review: 'object'
  // becomes: objects.push_back(std::move(object));
  // site: 0
  objects.push_back(object);
}
// The texts are copied, or only read.
void by_library_21(texts list, std::vector<std::string_view>& views) {
  texts copies;
  std::copy(list.begin(), list.end(), std::back_inserter(copies));
  std::sort(list.begin(), list.end());
  list.erase(std::remove(list.begin(), list.end(), copies[0]), list.end());
  if (std::find(views.begin(), views.end(), list.front()) != views.end()) return;
  std::vector<texts> lists;
  // proven: 'list'
  // becomes: lists.push_back(std::move(list));
  // site: 0
  lists.push_back(list);
  print("later");
}
// A function of the C library may store a pointer through an argument.
void by_the_c_library_1(std::string text) {
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  // review: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  results.push_back(end + std::to_string(number));
}
void by_the_c_library_2(std::string text, const char* word) {
  if (std::strcmp(text.c_str(), word) == 0 || std::strlen(text.c_str()) > 9) return;
  // proven: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
  print(word);
}
