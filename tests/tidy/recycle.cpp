// check: tarn-recycle
#include <cstddef>
#include <cstdio>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
// inserts: #include <tarn/recycle.hpp>
#include <utility>
#include <vector>

using names = std::vector<std::string>;
std::size_t total = 0;
void use(const std::string& text) { total = total * 31 + text.size() + static_cast<unsigned char>(text[0]); }
void fill(std::string& text, int count) { text.append(static_cast<std::size_t>(count), 'f'); }

// An object that prints when it ends.
struct guard {
  explicit guard(int initial) : number(initial) {}
  guard(guard&& source) noexcept : number(std::exchange(source.number, 0)) {}
  guard& operator=(guard&&) = delete;
  ~guard() {
    if (number != 0) std::printf("end %d\n", number);
  }
  int number;
};

namespace forms {

// Code outside of the block does not matter.
void elsewhere(int rounds) {
#ifdef NEVER
  use("never");
#endif
repeated : {
  // proven: 'text' with memory that the thread keeps
  // becomes: auto kept_text = tarn::recycle<std::string>();
  // becomes: std::string& text = *kept_text;
  // site: 0
  std::string text;
  fill(text, 10 * rounds);
  use(text);
  if (--rounds > 0) goto repeated;
}
}

void empty(int count) {
  // proven: 'text' with memory that the thread keeps
  // becomes: auto kept_text = tarn::recycle<std::string>();
  // becomes: std::string& text = *kept_text;
  // site: 0
  std::string text;
  fill(text, count);
  use(text);
}

void sum(const std::string& folder, const std::string& name) {
  // proven: 'path'
  // becomes: auto kept_path = tarn::recycle<std::string>();
  // becomes: std::string& path = *kept_path;
  // becomes: path = folder;
  // becomes: path += "/";
  // becomes: path += name;
  // site: 0
  std::string path = folder + "/" + name;
  use(path);
}

// The recorded line may be a use that gives it elements.
void several(int count) {
  // proven: 'first' and the variables beside it
  // becomes: auto kept_first = tarn::recycle<std::vector<int>>();
  // becomes: std::vector<int>& first = *kept_first;
  // becomes: auto kept_second = tarn::recycle<std::vector<int>>();
  // becomes: std::vector<int>& second = *kept_second;
  // becomes: second.assign(3, count);
  std::vector<int> first, second(3, count);
  for (int i = 0; i < count; ++i) {
    // site: 0
    first.push_back(i + second[0]);
  }
  total += first.size();
}

void with_count(std::size_t count) {
  // proven: 'values'
  // becomes: auto kept_values = tarn::recycle<std::vector<long>>();
  // becomes: std::vector<long>& values = *kept_values;
  // becomes: values.resize(count);
  // site: 0
  std::vector<long> values(count);
  for (const long value : values) total += static_cast<std::size_t>(value) + 1;
}

void alias(const names& list) {
  // proven: 'copy'
  // becomes: auto kept_copy = tarn::recycle<names>();
  // becomes: names& copy = *kept_copy;
  // becomes: copy = list;
  // site: 0
  names copy = list;
  copy.emplace_back("more");
  for (const std::string& name : copy) use(name);
}

void queue(int count) {
  // proven: 'waiting'
  // becomes: auto kept_waiting = tarn::recycle<std::deque<int>>();
  // becomes: std::deque<int>& waiting = *kept_waiting;
  // site: 0
  std::deque<int> waiting;
  waiting.push_back(count);
  while (!waiting.empty()) {
    if (waiting.front() > 0) waiting.push_back(waiting.front() - 1);
    waiting.pop_front();
    ++total;
  }
}

// A constant gets its value by the handle.
void constants(const std::string& folder, const names& list, std::size_t count) {
  // proven: 'path' with memory that the thread keeps
  // becomes: auto kept_path = tarn::recycle<std::string>();
  // becomes: *kept_path = folder;
  // becomes: *kept_path += "/";
  // becomes: *kept_path += list[0];
  // becomes: const std::string& path = *kept_path;
  // site: 0
  const std::string path = folder + "/" + list[0];
  // proven: 'part'
  // becomes: auto kept_part = tarn::recycle<std::string>();
  // becomes: kept_part->assign(path.begin(), path.end());
  // becomes: const std::string& part = *kept_part;
  // site: 0
  const std::string part(path.begin(), path.end());
  // proven: 'zeros' and the variables beside it
  // becomes: auto kept_zeros = tarn::recycle<std::vector<long>>();
  // becomes: kept_zeros->resize(count);
  // becomes: const std::vector<long>& zeros = *kept_zeros;
  // becomes: auto kept_ones = tarn::recycle<std::vector<long>>();
  // becomes: kept_ones->assign(count, 1);
  // becomes: const std::vector<long>& ones = *kept_ones;
  // site: 0
  const std::vector<long> zeros(count), ones(count, 1);
  // proven: 'copy'
  // becomes: auto kept_copy = tarn::recycle<names>();
  // becomes: *kept_copy = list;
  // becomes: const names& copy = *kept_copy;
  // site: 0
  const names copy = list;
  const auto last_size = [copy] { return copy.back().size(); };
  use(part);
  total += last_size() + zeros.size() + static_cast<std::size_t>(ones.back());
}

}  // namespace forms

namespace flow {

// Each call on the stack has an object of its own.
std::size_t recursive(int depth) {
  // proven: 'text'
  // becomes: auto kept_text = tarn::recycle<std::string>();
  // becomes: std::string& text = *kept_text;
  // becomes: text.assign(40, 'a');
  // site: 0
  std::string text(40, 'a');
  const std::size_t deeper = depth == 0 ? 0 : recursive(depth - 1);
  text += std::to_string(deeper);
  return text.size() + deeper;
}

std::size_t leaves_early(const names& list) {
  // proven: 'joined'
  // becomes: auto kept_joined = tarn::recycle<std::string>();
  // becomes: std::string& joined = *kept_joined;
  // site: 0
  std::string joined;
  for (const std::string& part : list) {
    joined += part;
    if (joined.size() > 40) return joined.size();
  }
  if (joined.empty()) return 0;
  use(joined);
  return joined.size() + 1;
}

// The elements end where the variable ended, also for an exception.
void throws(bool must_throw) {
  const guard before(1);
  // proven: 'guards'
  // becomes: auto kept_guards = tarn::recycle<std::vector<guard>>();
  // becomes: std::vector<guard>& guards = *kept_guards;
  // site: 0
  std::vector<guard> guards;
  guards.emplace_back(2);
  const guard after(3);
  if (must_throw) throw std::runtime_error("thrown");
  guards.emplace_back(4);
}

void in_lambda(const names& list) {
  const auto print_all = [&list](int count) {
    // proven: 'line'
    // becomes: auto kept_line = tarn::recycle<std::string>();
    // becomes: std::string& line = *kept_line;
    // site: 0
    std::string line;
    for (const std::string& part : list) line += part;
    // It refers to the variable, and ends before it does.
    const auto add = [&line, count] { line += std::to_string(count); };
    add();
    // A copy.
    const auto size = [line] { return line.size(); };
    total += size();
    use(line);
  };
  print_all(1);
  print_all(2);
}

void in_loop(const names& list) {
  for (const std::string& part : list) {
    // proven: 'copy'
    // becomes: auto kept_copy = tarn::recycle<std::string>();
    // becomes: std::string& copy = *kept_copy;
    // becomes: copy = part;
    // site: 0
    std::string copy = part;
    copy += part;
    use(copy);
  }
}

template <class Value>
std::size_t doubled(const std::vector<Value>& values) {
  // proven: 'twice'
  // becomes: auto kept_twice = tarn::recycle<std::vector<Value>>();
  // becomes: std::vector<Value>& twice = *kept_twice;
  // site: 0
  std::vector<Value> twice;
  for (const Value& value : values) {
    twice.push_back(value);
    twice.push_back(value);
  }
  return twice.size();
}
template std::size_t doubled(const std::vector<int>&);
template std::size_t doubled(const std::vector<std::string>&);

struct parser {
  parser() {
    // proven: 'text'
    // becomes: auto kept_text = tarn::recycle<std::string>();
    // becomes: std::string& text = *kept_text;
    // site: 0
    std::string text;
    fill(text, 50);
    size = text.size();
  }
  std::size_t size = 0;
};

// The caller gets another object.
names split(const std::string& text) {
  names result;
  // proven: 'word'
  // becomes: auto kept_word = tarn::recycle<std::string>();
  // becomes: std::string& word = *kept_word;
  // site: 0
  std::string word;
  for (const char letter : text) {
    if (letter == ' ') {
      result.push_back(word);
      word.clear();
    } else {
      word += letter;
    }
  }
  result.push_back(word);
  return result;
}

}  // namespace flow

int main() {
  const names list = {"a text that is too long for the string itself", "second", "third and a bit more of text"};
  for (int round = 1; round < 5; ++round) {
    forms::empty(20 * round);
    forms::elsewhere(round);
    forms::sum(list[0], list[1]);
    forms::several(10 * round);
    forms::with_count(static_cast<std::size_t>(7 * round));
    forms::alias(list);
    forms::queue(round);
    forms::constants(list[0], list, static_cast<std::size_t>(5 * round));
    total += flow::recursive(round) + flow::leaves_early(list) + flow::leaves_early({}) + flow::leaves_early({"a"});
    try {
      flow::throws(round % 2 == 0);
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
    }
    flow::in_lambda(list);
    flow::in_loop(list);
    total += flow::doubled(list) + flow::doubled(std::vector<int>{1, 2, 3}) + flow::parser().size;
    for (const std::string& word : flow::split("some words that are split and one-that-is-longer-than-others"))
      use(word);
    std::printf("%zu\n", total);
  }
}
