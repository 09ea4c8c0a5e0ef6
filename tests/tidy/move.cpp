// check: tarn-move -Wno-unused-parameter
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
// inserts: #include <utility>
#include <vector>

using texts = std::vector<std::string>;
const std::string long_text = "a text that is longer than a short one";

struct plain {
  std::string name, value;
  texts tags;
  int number = 0;
  void set(const std::string& text) { name = text; }
};

// The functions of the page fill these.
texts results;
std::vector<plain> objects;
std::map<std::string, texts> table;

class owner {
 public:
  // proven: 'name' is used here for the last time
  // becomes: explicit owner(std::string name) : name_(std::move(name)) {}
  // site: 0
  explicit owner(std::string name) : name_(name) {}
  void rename(std::string name) {
    if (name.empty()) return;
    // proven: 'name'
    // becomes: name_ = std::move(name);
    // site: 0
    name_ = name;
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

void into_containers(const texts& list) {
  for (const std::string& part : list) {
    std::string text = part + long_text;
    text += '!';
    // proven: 'text' is used here for the last time: std::move takes its memory over, in place of a copy
    // becomes: results.push_back(std::move(text));
    // site: 0
    results.push_back(text);
  }
  plain object;
  object.set(list[0]);
  object.number = static_cast<int>(list.size());
  object.tags.push_back(list[0]);
  // proven: 'object'
  // becomes: objects.emplace_back(std::move(object));
  // site: 0
  objects.emplace_back(object);
  std::set<std::string> names;
  std::string name = list[0] + long_text;
  // proven: 'name'
  // becomes: names.insert(std::move(name));
  // site: 0
  names.insert(name);
  results.push_back(*names.begin());
  texts parts = list;
  // proven: 'parts'
  // becomes: table["parts"] = std::move(parts);
  // site: 0
  table["parts"] = parts;
  std::deque<std::pair<int, std::string>> pairs;
  std::pair<int, std::string> pair(1, long_text);
  // proven: 'pair'
  // becomes: pairs.push_front(std::move(pair));
  // site: 0
  pairs.push_front(pair);
  results.push_back(pairs.front().second);
}

// The copy of an element of a loop is the program's own.
void elements(const texts& list) {
  // proven: 'part'
  // becomes: for (std::string part : list) results.push_back(std::move(part));
  // site: 0
  for (std::string part : list) results.push_back(part);
}

std::string by_value(std::string text, int count) {
  text += std::to_string(count);
  return text;
}
std::pair<bool, std::string> returned(const std::string& source, bool is_found) {
  std::string text = source + long_text;
  if (!is_found) {
    // proven: 'text'
    // becomes: return std::make_pair(false, std::move(text));
    // site: 0
    return std::make_pair(false, text);
  }
  text += "found";
  // proven: 'text'
  // becomes: return {true, by_value(std::move(text), 3)};
  // site: 0
  return {true, by_value(text, 3)};
}

// The branches exclude each other, and the code behind a return, continue or break does not run.
void branches(const texts& list, int kind) {
  for (const std::string& part : list) {
    std::string text = part + long_text;
    if (kind == 0) {
      // proven: 'text'
      // becomes: results.push_back(std::move(text));
      // site: 0
      results.push_back(text);
      continue;
    }
    if (kind == 1) {
      // proven: 'text'
      // becomes: results.push_back(std::move(text));
      // site: 0
      results.push_back(text);
    } else {
      text.clear();
    }
    switch (kind) {
      case 2: {
        std::string inner = part + long_text;
        // proven: 'inner'
        // becomes: results.push_back(std::move(inner));
        // site: 0
        results.push_back(inner);
        break;
      }
      default: break;
    }
  }
}

// A function got a reference, but no code that could use it runs before the text ends.
void fill(std::string& text) { text = long_text; }
void filled() {
  std::string text;
  fill(text);
  // proven: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}

bool read(std::string* text, int number) {
  *text = long_text + std::to_string(number);
  return number < 3;
}
void by_an_address() {
  for (int number = 0;; ++number) {
    std::string text;
    if (!read(&text, number)) return;
    if (text.empty()) break;
    // proven: 'text'
    // becomes: results.push_back(std::move(text));
    // site: 0
    results.push_back(text);
  }
}

template <class Value>
void of_a_template(Value value) {
  std::string text = std::to_string(value) + long_text;
  // proven: 'text'
  // becomes: results.push_back(std::move(text));
  // site: 0
  results.push_back(text);
}

void in_a_lambda() {
  const auto add = [](const std::string& part) {
    std::string text = part + long_text;
    // proven: 'text'
    // becomes: results.push_back(std::move(text));
    // site: 0
    results.push_back(text);
  };
  add("lambda");
  const std::size_t count = results.size();
  std::string text = long_text;
  for (const char letter : text) results.back() += letter;
  std::string copy;
  copy = text.substr(2);
  // proven: 'copy'
  // becomes: std::string last = std::move(copy);
  // site: 0
  std::string last = copy;
  results.push_back(last + std::to_string(count));
}

int main() {
  const texts list = {"one", "two", long_text};
  into_containers(list);
  elements(list);
  results.push_back(returned("a", false).second + returned("b", true).second);
  for (int kind = 0; kind < 4; ++kind) branches(list, kind);
  filled();
  by_an_address();
  of_a_template(1);
  of_a_template(2.5);
  in_a_lambda();
  owner first("first " + long_text);
  results.push_back(first.name());
  first.rename("second " + long_text);
  results.push_back(first.name());
  for (const std::string& text : results) std::printf("%s\n", text.c_str());
  for (const plain& object : objects)
    std::printf("%s %d %zu\n", object.name.c_str(), object.number, object.tags.size());
  for (const auto& [key, values] : table) std::printf("%s %zu\n", key.c_str(), values.size());
}
