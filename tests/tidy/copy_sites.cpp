// check: tarn-copy -Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using texts = std::vector<std::string>;
texts results;
std::string global_text;
void print(const std::string& text);
void change(std::string& text);
std::string make_text();
const std::string& longer(const std::string& first, const std::string& second);

struct entry {
  std::string name;
  texts tags;
};
struct has_own_copy {
  std::string text;
  has_own_copy() = default;
  has_own_copy(const has_own_copy& source) : text(source.text) {}
};
struct has_own_end {
  std::string text;
  ~has_own_end() { print(text); }
};
struct base {
  std::string text;
};
struct derived : base {
  std::string addition;
};

// The page has one edit that is proven, so that the edited page is compiled.
std::size_t edited(const entry& source) {
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  return name.size();
}
std::size_t not_recorded(const entry& source) {
  std::string name = source.name;
  return name.size();
}

// The copy is changed, or given away.
std::string changed(const entry& source, int kind) {
  // no edit: 'first' may be changed or given away
  // site: 0
  std::string first = source.name;
  first += '!';
  // no edit: 'second' may be changed or given away
  // site: 0
  std::string second = source.name;
  change(second);
  // no edit: 'third' may be changed or given away
  // site: 0
  std::string third = source.name;
  results.push_back(std::move(third));
  // no edit: 'fourth' may be changed or given away
  // site: 0
  entry fourth = source;
  fourth.tags.clear();
  // no edit: 'fifth' may be changed or given away
  // site: 0
  std::string fifth = source.name;
  for (char& letter : fifth) letter = 'a';
  // no edit: 'sixth' may be changed or given away
  // site: 0
  std::string sixth = source.name;
  sixth[0] = 'a';
  // no edit: 'seventh' may be changed or given away
  // site: 0
  std::string seventh = source.name;
  std::string* pointer = &seventh;
  // no edit: 'eighth' may be changed or given away
  // site: 0
  std::string eighth = source.name;
  auto letter = eighth.begin();
  *letter = 'b';
  // no edit: 'tenth' may be changed or given away
  // site: 0
  std::string tenth = source.name;
  static_assert(std::is_same_v<decltype(tenth), std::string>);
  // no edit: 'ninth' may be changed or given away
  // site: 0
  std::string ninth = source.name;
  return ninth;
}
std::function<std::size_t()> captured(const entry& source) {
  // no edit: a lambda uses 'name'
  // site: 0
  std::string name = source.name;
  return [name] { return name.size(); };
}
void in_a_thread(const entry& source) {
  // no edit: a lambda uses 'name'
  // site: 0
  std::string name = source.name;
  std::thread([&name] { print(name); }).join();
}

// The original may end before the copy.
std::size_t of_a_temporary() {
  // no edit: the original of 'text' may end before it, or is not known
  // site: 0
  std::string text = longer(make_text(), "");
  return text.size();
}
struct stack {
  std::vector<entry> frames;
  entry& top() { return frames.back(); }
  void pop() { frames.pop_back(); }
};
std::size_t of_an_element(stack& frames, std::map<std::string, entry>& table) {
  // review: 'tags' is only read
  // becomes: const texts& tags = frames.top().tags;
  // site: 0
  texts tags = frames.top().tags;
  frames.pop();
  // review: 'name'
  // becomes: const std::string& name = table.begin()->second.name;
  // site: 0
  std::string name = table.begin()->second.name;
  table.clear();
  return tags.size() + name.size();
}
std::size_t by_delete(entry* source) {
  // review: 'name'
  // becomes: const std::string& name = source->name;
  // site: 0
  std::string name = source->name;
  delete source;
  return name.size();
}

// The original changes while the copy is used.
std::size_t by_its_name(texts list) {
  // no edit: the original of 'first' may be changed while it is used
  // site: 0
  std::string first = list[0];
  list.push_back("more");
  std::size_t result = first.size();
  // no edit: the original of 'part' may be changed while it is used
  // site: 0
  for (auto part : list) {
    list[0] = "other";
    result += part.size();
  }
  return result;
}
std::size_t by_an_alias(texts list, int number) {
  texts& alias = list;
  std::string* second = &list[1];
  // review: 'first'
  // becomes: const std::string& first = list[0];
  // site: 0
  std::string first = list[0];
  alias.clear();
  // review: 'text'
  // becomes: const std::string& text = list[2];
  // site: 0
  std::string text = list[2];
  *second = "other";
  return first.size() + text.size();
}
class owner {
 public:
  std::size_t by_a_function() {
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    rename();
    return name.size();
  }
  std::size_t by_an_unknown_function() {
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    print("unknown");
    return name.size();
  }
  std::size_t by_another_object(owner& second_text) {
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    second_text.name_ = "changed";
    return name.size();
  }
  std::size_t by_an_argument(std::string& second_text) {
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    second_text.clear();
    return name.size();
  }
  std::size_t by_a_lambda() {
    const auto reset = [this] { name_.clear(); };
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    reset();
    return name.size();
  }
  std::size_t by_a_destructor() {
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    {
      has_own_end end;
      end.text = "end";
    }
    return name.size();
  }
  // The lock is given back while the copy is used.
  std::size_t without_the_lock() {
    std::unique_lock lock(mutex_);
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    lock.unlock();
    return name.size();
  }
  std::size_t by_a_parent(owner* parent) {
    // review: 'name'
    // becomes: const std::string& name = name_;
    // site: 0
    std::string name = name_;
    parent->child_ = nullptr;
    return name.size();
  }

 private:
  void rename() { name_ = "other"; }
  std::string name_;
  std::unique_ptr<owner> child_;
  std::mutex mutex_;
};
struct view_of_texts {
  std::string* first;
  std::string* begin() const { return first; }
  std::string* end() const { return first + 2; }
};
std::size_t by_a_view(texts list) {
  const view_of_texts view{&list[0]};
  std::size_t result = 0;
  // review: 'part'
  // becomes: for (const auto& part : view) {
  // site: 0
  for (auto part : view) {
    list.clear();
    result += part.size();
  }
  return result;
}
struct referring {
  std::string& text;
};
std::size_t by_a_member(std::string& text) {
  const referring holder{text};
  // review: 'name'
  // becomes: const std::string& name = holder.text;
  // site: 0
  std::string name = holder.text;
  text.clear();
  return name.size();
}
std::size_t by_a_move(entry& source) {
  // review: 'name'
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  std::string second_text = std::move(source.name);
  return name.size() + second_text.size();
}
std::size_t by_an_algorithm(texts& list) {
  // review: 'name'
  // becomes: const std::string& name = list[0];
  // site: 0
  std::string name = list[0];
  auto first = list.begin();
  std::fill(first, list.end(), "other");
  return name.size();
}
struct has_cache {
  std::string text;
  mutable std::string cache;
  std::size_t get() const { return (cache = text).size(); }
};
std::size_t of_a_cache(const has_cache& source) {
  // site: 0
  has_cache copy = source;
  return copy.get();
}
std::size_t of_a_global() {
  // review: 'text'
  // becomes: const std::string& text = global_text;
  // site: 0
  std::string text = global_text;
  change(global_text);
  return text.size();
}

// A copy does more than take memory, or is of another type.
std::size_t types(const has_own_copy& first, const has_own_end& second, const derived& third,
                  const std::pmr::string& fourth, const std::shared_ptr<int>& fifth, const char* sixth) {
  // site: 0
  has_own_copy own_copy = first;
  // site: 0
  has_own_end own_end = second;
  // site: 0
  base sliced = third;
  // site: 0
  std::pmr::string other_memory = fourth;
  // site: 0
  std::shared_ptr<int> pointer_copy = fifth;
  // site: 0
  std::string made_of_letters = sixth;
  return own_copy.text.size() + own_end.text.size() + sliced.text.size() + other_memory.size() +
         made_of_letters.size() + static_cast<std::size_t>(*pointer_copy);
}
#define COPY(name, source) std::string name = source
std::size_t forms(const entry& source) {
  // no edit: a macro writes this code
  // site: 0
  COPY(first, source.name);
  // no edit: the statement declares several variables
  // no edit: the statement declares several variables
  // site: 0
  std::string second = source.name, third = source.name;
  return first.size() + second.size() + third.size();
}
template <class Value>
std::size_t of_a_template(const Value& value) {
  // no edit: 'copy' may be of another type in another instantiation
  // site: 0
  Value copy = value;
  return copy.size();
}
template std::size_t of_a_template(const std::string& value);

// Parameters.
struct shape {
  // no edit: the function is virtual
  virtual std::size_t of_a_virtual_function(std::string text) { return text.size(); }
  virtual ~shape() = default;
};
// review: 'text' is only read
// becomes: std::size_t of_a_visible_function(const std::string& text) { return text.size(); }
std::size_t of_a_visible_function(std::string text) { return text.size(); }
// no edit: the address of the function is used
static std::size_t of_an_address(std::string text) { return text.size(); }
std::size_t (*pointer)(std::string) = of_an_address;
// review: 'text'
// becomes: static std::size_t with_a_change(const std::string& text, std::string& second_text) {
static std::size_t with_a_change(std::string text, std::string& second_text) {
  second_text.clear();
  return text.size();
}
// no edit: 'text' may be changed or given away
static std::string given_back(std::string text) { return text; }
// no edit: another function has this name
static std::size_t overloaded(std::string text) { return text.size(); }
static std::size_t overloaded(int number) { return static_cast<std::size_t>(number); }
// review: 'text'
// becomes: static std::size_t sum_of(const std::string& text, std::string next) { return text.size() + next.size(); }
static std::size_t sum_of(std::string text, std::string next) { return text.size() + next.size(); }
std::size_t change_of_a_global() {
  global_text.clear();
  return 1;
}
// review: 'text'
// becomes: static std::size_t sum_with(const std::string& text, std::size_t number) { return text.size() + number; }
static std::size_t sum_with(std::string text, std::size_t number) { return text.size() + number; }
// review: 'text'
// becomes: static std::size_t sum_at_start(const std::string& text, std::size_t n) { return text.size() + n; }
static std::size_t sum_at_start(std::string text, std::size_t n) { return text.size() + n; }
const std::size_t start = sum_at_start(global_text, 1);
// review: 'text'
// becomes: static std::size_t sum(std::size_t n, const std::string& text = global_text) { return n + text.size(); }
static std::size_t sum(std::size_t n, std::string text = global_text) { return n + text.size(); }
// After the call the list would have its elements.
// review: 'list' is only read
// becomes: static std::size_t length_of(const texts& list) { return list.size(); }
static std::size_t length_of(texts list) { return list.size(); }
std::size_t calls(shape& object, const entry& source, std::string& second_text) {
  // site: 0
  std::size_t result = object.of_a_virtual_function(source.name);
  // site: 0
  result += of_a_visible_function(source.name);
  // site: 0
  result += of_an_address(source.name);
  // site: 0
  result += with_a_change(second_text, second_text);
  // site: 0
  result += given_back(source.name).size();
  // site: 0
  result += sum_of(second_text, std::move(second_text));
  // site: 0
  result += sum_with(global_text, change_of_a_global());
  // site: 0
  result += sum_at_start(global_text, 2);
  result += sum(change_of_a_global());
  // site: 0
  result += sum(3, source.name);
  texts list = source.tags;
  // site: 0
  result += length_of(source.tags) + length_of(std::move(list));
  // site: 0
  return result + overloaded(source.name) + overloaded(1);
}
