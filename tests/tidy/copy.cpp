// check: tarn-copy -Wno-unused-parameter -Wno-range-loop-construct
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

using texts = std::vector<std::string>;
const std::string long_text = "a text that is longer than a short one";
std::size_t sum = 0;

struct entry {
  std::string name;
  texts tags;
  int number = 0;
  const std::string& get_name() const { return name; }
};

class table {
 public:
  void add(const std::string& key, const entry& value) { entries_[key] = value; }
  const entry& entry_at(const std::string& key) const { return entries_.at(key); }
  std::size_t length(const std::string& key) const {
    // proven: 'value_found' is only read: a reference to the original, in place of a copy
    // becomes: const entry& value_found = entries_.at(key);
    // site: 0
    entry value_found = entries_.at(key);
    return value_found.name.size() + value_found.tags.size();
  }
  void print() const {
    // proven: 'copy'
    // becomes: const auto& copy = entries_;
    // site: 0
    auto copy = entries_;
    for (const auto& [key, value] : copy) std::printf("%s %s\n", key.c_str(), value.get_name().c_str());
  }

 private:
  std::map<std::string, entry> entries_;
};

// A loop over a container that is not changed.
std::size_t elements(const texts& list, const std::vector<entry>& entries) {
  std::size_t letters = 0;
  // proven: 'text' is only read
  // becomes: for (const auto& text : list) letters += text.size();
  // site: 0
  for (auto text : list) letters += text.size();
  // proven: 'text'
  // becomes: for (const std::string& text : list) {
  // site: 0
  for (const std::string text : list) {
    if (text.empty()) continue;
    letters += static_cast<std::size_t>(text[0]) + text.find('o');
  }
  // proven: 'next'
  // becomes: for (const entry& next : entries) {
  // site: 0
  for (entry next : entries) {
    texts tags;
    for (const std::string& tag : next.tags) tags.push_back(tag + next.name);
    letters += tags.size();
  }
  return letters;
}

texts make_texts(int count) { return texts(static_cast<std::size_t>(count), long_text); }
std::size_t of_a_result(int count) {
  std::size_t letters = 0;
  // proven: 'text'
  // becomes: for (const auto& text : make_texts(count)) letters += text.size();
  // site: 0
  for (auto text : make_texts(count)) letters += text.size();
  return letters;
}

// The original is a variable of the function, to which nothing else refers.
std::size_t local(int count) {
  texts list;
  for (int number = 0; number < count; ++number) list.push_back(long_text + std::to_string(number));
  // proven: 'first'
  // becomes: const std::string& first = list[0];
  // site: 0
  std::string first = list[0];
  sum += first.size();
  std::printf("%s\n", first.c_str());
  // proven: 'second'
  // becomes: const std::string& second(list.back());
  // site: 0
  const std::string second(list.back());
  std::string joined;
  joined += second;
  joined.append(second.begin() == second.end() ? "empty" : "full");
  // The copy is not used any more.
  list.clear();
  return joined.size();
}

// The iterators of a copy become constant ones at once.
std::size_t iterators(const std::map<std::string, int>& numbers) {
  std::size_t result = 0;
  // proven: 'copy'
  // becomes: const std::map<std::string, int>& copy = numbers;
  // site: 0
  std::map<std::string, int> copy = numbers;
  for (std::map<std::string, int>::const_iterator next = copy.begin(), end = copy.end(); next != end; ++next)
    result += next->first.size();
  const std::map<std::string, int>::const_iterator value_found = copy.find("one");
  if (value_found != copy.end()) ++result;
  return result;
}

// Functions that only read, and writes to objects of other types, leave the original as it is.
struct counter {
  int calls = 0;
  std::vector<int> lengths;
  int get() const { return calls; }
  std::size_t count(const entry& source) {
    // proven: 'name'
    // becomes: const std::string& name = source.get_name();
    // site: 0
    std::string name = source.get_name();
    calls += get();
    lengths.push_back(static_cast<int>(name.size()));
    return name.size() + lengths.size();
  }
};

// Nothing outside of this unit can name the function.
// becomes: static std::size_t sum_of(const std::string& first, const std::string& next);
static std::size_t sum_of(const std::string& first, std::string next);
// proven: 'next' is only read: a reference to a constant, in place of a copy in each call
// becomes: static std::size_t sum_of(const std::string& a, const std::string& next) { return a.size() + next.size(); }
static std::size_t sum_of(const std::string& a, std::string next) { return a.size() + next.size(); }
namespace {
// proven: 'list'
// becomes: std::size_t size_of(const texts& list) { return list.empty() ? 0 : list[0].size(); }
std::size_t size_of(const texts list) { return list.empty() ? 0 : list[0].size(); }
}  // namespace
std::size_t called(const texts& list) {
  // site: 0
  std::size_t result = sum_of("first", list[0]);
  result += sum_of(list[0], "literal");
  // site: 0
  return result + size_of(list);
}

int main() {
  const texts list = {"one", "two", long_text};
  const entry first{"first " + long_text, list, 1};
  table entries;
  entries.add("one", first);
  entries.print();
  counter calls;
  std::printf("%zu %zu %zu %zu %zu %zu %zu %zu\n", entries.length("one"), elements(list, {first, first}), local(4),
              iterators({{"one", 1}, {"two", 2}}), calls.count(first), called(list), of_a_result(3), sum);
}
