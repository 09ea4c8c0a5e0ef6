// check: tarn-copy -Wno-unused-parameter
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// What a call of the standard library, a pointer or an owner may change while the copy is used.
using texts = std::vector<std::string>;
struct entry {
  std::string name;
  texts tags;
};
struct spin_lock {
  int state = 0;
  void lock() {
    while (__atomic_exchange_n(&state, 1, __ATOMIC_ACQUIRE) != 0) {
    }
  }
  void unlock() { __atomic_store_n(&state, 0, __ATOMIC_RELEASE); }
};
struct old_lock {
  int state = 0;
  void unlock() { __sync_lock_release(&state); }
};

// Pointers to objects of the library.
std::size_t changed_1(std::deque<std::string>* jobs) {
  // review: 'name' is only read
  // becomes: const std::string& name = jobs->front();
  // site: 0
  std::string name = jobs->front();
  jobs->pop_front();
  return name.size();
}
std::size_t changed_2(const entry& source, std::string* target) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  target->clear();
  return name.size();
}
std::size_t changed_3(const entry& source, std::string* target) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  target->append("x");
  return name.size();
}
std::size_t changed_4(const entry& source, std::string* target) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  target->front() = 'x';
  return name.size();
}
std::size_t changed_5(const entry& source, texts* target) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.tags[0];
  // site: 0
  std::string name = source.tags[0];
  target->push_back("more");
  return name.size();
}
std::size_t changed_6(const entry& source, const std::vector<std::string*>& list) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  for (std::string* next : list) next->clear();
  return name.size();
}
std::size_t changed_7(const std::unique_ptr<std::list<std::string>>& jobs) {
  // review: 'name' is only read
  // becomes: const std::string& name = jobs->front();
  // site: 0
  std::string name = jobs->front();
  jobs->pop_front();
  return name.size();
}
std::size_t same_8(const entry& source, std::vector<int>* target) {
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  target->push_back(static_cast<int>(name.size()));
  return name.size();
}
std::size_t same_9(const entry& source, std::vector<int>* target) {
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  target->clear();
  return name.size();
}

// Callables, and what the program wrote for the library.
std::size_t changed_10(const entry& source, const std::function<void()>& function) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  function();
  return name.size();
}
std::size_t changed_11(entry& source, void (entry::*function)()) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  std::invoke(function, source);
  return name.size();
}
std::size_t changed_12(entry& source, int* numbers) {
  const auto change = [&source](int) { source.name.clear(); };
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  std::for_each(numbers, numbers + 1, change);
  return name.size();
}
std::size_t changed_13(const entry& source, const std::function<texts()>& function) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  for (const std::string& part : function()) std::printf("%s", part.c_str());
  return name.size();
}
std::size_t changed_14(const entry& source, void (*function)()) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  std::thread(function).join();
  return name.size();
}
struct comparing {
  entry* target;
  bool operator==(const comparing&) const {
    target->name.clear();
    return true;
  }
};
struct copying {
  entry* target;
  explicit copying(entry* target_) : target(target_) {}
  copying(const copying& source) : target(source.target) { target->name.clear(); }
};
std::size_t changed_15(const entry& source, const std::vector<comparing>& first) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  if (first == first) return 0;
  return name.size();
}
std::size_t changed_16(const entry& source, const std::vector<copying>& list) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  const std::vector<copying> copies = list;
  return name.size();
}
std::size_t changed_17(const entry& source, std::vector<copying>& list) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  list.push_back(list[0]);
  return name.size();
}
std::size_t changed_18(const entry& source, std::unique_ptr<int, std::function<void(int*)>> pointer) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  pointer.reset();
  return name.size();
}
std::size_t changed_19(const entry& source) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  std::cout << name;
  return name.size();
}
std::size_t same_20(const entry& source, const std::vector<int>& numbers) {
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  if (numbers == std::vector<int>{1}) return 0;
  return name.size();
}
std::size_t same_21(const entry& source) {
  std::ostringstream stream;
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  stream << name << 3;
  return name.size();
}
std::size_t same_22(const entry& source, std::vector<std::pair<int, double>>& list) {
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  list.emplace_back(1, 2.0);
  return name.size();
}

// Owners that are variables of the function, and bytes.
std::size_t changed_23(std::shared_ptr<entry> owner, const entry& source) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  owner.reset();
  return name.size();
}
std::size_t changed_24(std::shared_ptr<entry> owner, const entry& source) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  owner = nullptr;
  return name.size();
}
std::size_t changed_25(std::vector<entry> owner, const entry& source) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  owner.clear();
  return name.size();
}
std::size_t changed_26(std::vector<entry> owner, const entry& source) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  { const std::vector<entry> end = std::move(owner); }
  return name.size();
}
std::size_t changed_27(const entry& source, char* letters) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  std::strncpy(letters, "new", 3);
  return name.size();
}
std::size_t changed_28(const entry& source, char* letters) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  if (std::sscanf("new", "%3c", letters) != 1) return 0;
  return name.size();
}
std::size_t changed_29(const entry& source, unsigned char* letters) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  letters[0] = 3;
  return name.size();
}
std::size_t changed_30(const entry& source, void* memory) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  __builtin_memset(memory, 0, 8);
  return name.size();
}
std::size_t changed_31(const entry& source, char* letters, const std::string& letters_source) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  letters_source.copy(letters, 2);
  return name.size();
}
std::size_t changed_32(const entry& source, char* letters, std::istringstream& stream) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  stream.read(letters, 2);
  return name.size();
}
std::size_t same_33(const entry& source) {
  char letters[40];
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  std::snprintf(letters, sizeof letters, "%s", name.c_str());
  return name.size();
}
std::size_t same_34(const entry& source) {
  texts list;
  // proven: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  list.push_back(name);
  list.clear();
  return name.size();
}

// Locks of the program.
std::size_t changed_35(const entry& source, spin_lock& mutex) {
  mutex.lock();
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  mutex.unlock();
  return name.size();
}
std::size_t changed_36(const entry& source, old_lock& mutex) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  mutex.unlock();
  return name.size();
}
std::size_t changed_37(const entry& source) {
  // review: 'name' is only read
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return name.size();
}

// Values that the compiler adds, and bindings by functions of the program.
std::string* target = nullptr;
int change_target() {
  target->clear();
  return 1;
}
struct has_value {
  int number = change_target();
};
struct has_part {
  has_value part;
};
struct has_get {
  std::string* text;
};
template <std::size_t Index>
int get(const has_get& object) {
  object.text->clear();
  return static_cast<int>(Index);
}
namespace std {
template <>
struct tuple_size<has_get> {
  static constexpr size_t value = 1;
};
template <>
struct tuple_element<0, has_get> {
  using type = int;
};
}  // namespace std
std::size_t by_values(const entry& source, const has_get& object) {
  // review: 'first'
  // becomes: const std::string& first = source.name;
  // site: 0
  std::string first = source.name;
  has_part part{};
  std::size_t result = first.size() + static_cast<std::size_t>(part.part.number);
  // review: 'second'
  // becomes: const std::string& second = source.name;
  // site: 0
  std::string second = source.name;
  auto [number] = object;
  return result + second.size() + static_cast<std::size_t>(number);
}
struct numbered {
  std::string name;
  int number;
};
std::size_t by_sign(const numbered& source, unsigned* number) {
  // review: 'copy'
  // becomes: const numbered& copy = source;
  // site: 0
  numbered copy = source;
  *number = 3;
  return copy.name.size() + static_cast<std::size_t>(copy.number);
}
// A pointer to a constant may lead to an object that is none, and so may a pointer in memory.
int by_similar_type(const std::vector<int*>& source, const int** pointer) {
  static int second = 2;
  // review: 'copy'
  // becomes: const std::vector<int*>& copy = source;
  // site: 0
  std::vector<int*> copy = source;
  *pointer = &second;
  return *copy[0];
}
// An iterator of a stream has its value in itself.
std::size_t read_words(std::istream& input) {
  std::size_t length = 0;
  std::istream_iterator<std::string> word(input), end;
  while (word != end) {
    // no edit: the original of 'copy' may end before it, or is not known
    // site: 0
    std::string copy = *word++;
    length += copy.size();
  }
  return length;
}
std::size_t second_word(std::istream& input) {
  // no edit: the original of 'copy' may end before it, or is not known
  // site: 0
  std::string copy = *std::next(std::istream_iterator<std::string>(input));
  return copy.size();
}
std::size_t second_of(const texts& list) {
  // proven: 'copy'
  // becomes: const std::string& copy = *std::next(list.begin());
  // site: 0
  std::string copy = *std::next(list.begin());
  return copy.size();
}

std::string global_text;
// Operators that the language writes, an inherited constructor, and numbers among the arguments of printf.
struct compared {
  int number;
  bool operator==(const compared& second) const {
    global_text = "compared";
    return number == second.number;
  }
};
void of_a_rewritten_operator(const compared& first, const compared& second) {
  // site: 0
  // review: 'copy' is only read
  // becomes: const std::string& copy = global_text;
  std::string copy = global_text;
  if (first != second) std::printf("other");
  std::printf("%s", copy.c_str());
}
struct writing_base {
  explicit writing_base(int) { global_text = "changed"; }
};
struct heir : writing_base {
  using writing_base::writing_base;
};
void of_an_inherited_constructor() {
  // site: 0
  // review: 'copy' is only read
  // becomes: const std::string& copy = global_text;
  const std::string copy = global_text;
  heir object(1);
  std::printf("%s", copy.c_str());
}
void of_a_number(int number) {
  // site: 0
  // proven: 'copy' is only read
  // becomes: const std::string& copy = global_text;
  const std::string copy = global_text;
  std::printf("%d %s", number, copy.c_str());
}

// Types that ask whether something is a reference, or whether it may throw.
decltype(auto) of_a_deduced_type() {
  // site: 0
  // no edit: decltype(auto) would make a reference of it
  const std::string copy = global_text;
  return copy;
}
void of_a_deduced_variable() {
  // site: 0
  // no edit: decltype(auto) would make a reference of it
  decltype(auto) copy = global_text;
  std::printf("%s", copy.c_str());
}
// review: 'text' is only read
// becomes: static std::size_t length_without_throw(const std::string& text) noexcept { return text.size(); }
static std::size_t length_without_throw(std::string text) noexcept { return text.size(); }
// site: 0
std::size_t length_of_global() { return length_without_throw(global_text); }

// A function that writes to a view leaves what it reads there.
std::size_t by_exchange(std::span<char>& letters) {
  std::string text = "a text that is longer than a short one";
  text += std::to_string(letters.size());
  std::exchange(letters, text);
  // review: 'old'
  // becomes: const std::string& old = text;
  // site: 0
  const std::string old = text;
  letters[0] = 'X';
  return old.size();
}

// Another instantiation may make no copy.
struct plain_sender {
  std::string value;
  const std::string& text() const { return value; }
};
struct secret_sender {
  std::string text() const { return "a secret"; }
};
std::size_t encode(const plain_sender&, const std::string& text) { return text.size(); }
std::size_t encode(const secret_sender&, std::string& text) {
  for (char& letter : text) ++letter;
  return text.size();
}
template <class Sender>
std::size_t send(const Sender& sender) {
  // no edit: 'text' may be no copy in another instantiation
  // site: 0
  std::string text = sender.text();
  return encode(sender, text);
}
template std::size_t send(const plain_sender& sender);
template std::size_t send(const secret_sender& sender);
template <class Value>
std::size_t length_of(const entry& source, Value value) {
  // proven: 'name'
  // becomes: const std::string& name = source.name;
  // site: 0
  std::string name = source.name;
  return name.size() + sizeof(value);
}
template std::size_t length_of(const entry& source, int value);
template std::size_t length_of(const entry& source, double value);
