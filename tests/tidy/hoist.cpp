// check: tarn-hoist -Wno-shadow
#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using texts = std::vector<std::string>;
using numbers = std::vector<int>;
std::string printed;
void print(const std::string& text) { printed += text + "\n"; }
bool read_line(std::string& line) {
  static int left = 5;
  line += "line " + std::to_string(left);
  return left-- > 0;
}
void fill(numbers* values, int count) {
  for (int i = 0; i < count; ++i) values->push_back(i);
}
int sum_of(const numbers& values) {
  int sum = 0;
  for (int value : values) sum += value;
  return sum;
}

namespace proven {

void empty_ones(const texts& list) {
  // inserts: std::string text;
  for (const std::string& part : list) {
    // proven: 'text' moves out of the loop and keeps its memory
    // becomes: text.clear();
    std::string text;
    text += part;
    if (part == "two") continue;
    text.append(", ");
    print(text);
  }
  int round = 0;
  // inserts: numbers values;
  while (round < 3) {
    // proven: 'values' moves
    // becomes: values.clear();
    numbers values{};
    fill(&values, ++round);
    print(std::to_string(sum_of(values)));
  }
  // inserts: std::deque<int> queue;
  do {
    // proven: 'queue' moves
    // becomes: queue.clear();
    std::deque<int> queue;
    queue.push_back(round);
    queue.push_front(1);
    print(std::to_string(queue.size()));
  } while (--round > 0);
  // inserts: std::string line;
  for (int number = 0; number < 2; ++number) {
    // proven: 'line' moves
    // becomes: line.clear();
    std::string line = "";
    if (read_line(line)) print(line);
  }
}

// The outermost loop is the best one.
void nested(const std::vector<texts>& lists) {
  // inserts: std::string text;
  for (const texts& list : lists) {
    for (const std::string& part : list) {
      // proven: 'text' moves
      // becomes: text.clear();
      std::string text;
      for (char letter : part) {
        text.insert(text.begin(), letter);
      }
      print(text);
    }
  }
}

void of_another_value(const texts& list, const char* letters, std::size_t count, std::string_view view) {
  // inserts: std::string copy;
  for (const std::string& part : list) {
    // proven: 'copy' moves
    // becomes: copy = part;
    std::string copy = part;
    std::reverse(copy.begin(), copy.end());
    print(copy);
  }
  // inserts: std::string copy_in_brackets;
  for (const std::string& part : list) {
    // proven: 'copy_in_brackets' moves
    // becomes: copy_in_brackets = part;
    std::string copy_in_brackets(part);
    print(copy_in_brackets);
  }
  // inserts: std::string of_letters;
  for (std::size_t i = 0; i < count; ++i) {
    // proven: 'of_letters' moves
    // becomes: of_letters = letters + i;
    std::string of_letters(letters + i);
    print(of_letters);
  }
  // inserts: std::string of_range;
  for (std::size_t i = 0; i < count; ++i) {
    // proven: 'of_range' moves
    // becomes: of_range.assign(letters, i);
    std::string of_range(letters, i);
    print(of_range);
  }
  // inserts: std::string repeated;
  for (std::size_t i = 0; i < count; ++i) {
    // proven: 'repeated' moves
    // becomes: repeated.assign(i, 'x');
    std::string repeated(i, 'x');
    print(repeated);
  }
  // inserts: std::string of_view;
  for (std::size_t i = 0; i < count; ++i) {
    // proven: 'of_view' moves
    // becomes: of_view = view.substr(i);
    std::string of_view{view.substr(i)};
    print(of_view);
  }
  // inserts: std::string of_list;
  for (char letter = 'a'; letter < 'd'; ++letter) {
    // proven: 'of_list' moves
    // becomes: of_list = {letter, '!'};
    std::string of_list{letter, '!'};
    print(of_list);
  }
  // inserts: std::string part_of_text;
  for (const std::string& part : list) {
    // proven: 'part_of_text' moves
    // becomes: part_of_text.assign(part, 1, 2);
    std::string part_of_text = part.substr(1, 2);
    print(part_of_text);
  }
  // inserts: std::string remainder;
  for (const std::string& part : list) {
    // proven: 'remainder' moves
    // becomes: remainder.assign(part, 1);
    std::string remainder(part.substr(1));
    print(remainder);
  }
}

// a + b makes a text of its own for each +.
void sums(const texts& list, const std::string& folder, char letter) {
  // inserts: std::string path;
  for (const std::string& name : list) {
    // proven: 'path' moves
    // becomes: path = folder;
    // becomes: path += "/";
    // becomes: path += name;
    // becomes: path += letter;
    std::string path = folder + "/" + name + letter;
    print(path);
  }
  // inserts: std::string number;
  for (std::size_t i = 0; i < list.size(); ++i) {
    // proven: 'number' moves
    // becomes: number = letter;
    // becomes: number += list[i];
    // becomes: number += std::to_string(i + 1);
    // becomes: number += (i > 1 ? "a" : "b");
    std::string number(letter + list[i] + std::to_string(i + 1) + (i > 1 ? "a" : "b"));
    print(number);
  }
}

// A function that gets a reference can use it only until the iteration ends.
void given_by_reference(const texts& list) {
  std::string target;
  // inserts: std::string text;
  for (const std::string& part : list) {
    // proven: 'text' moves
    // becomes: text = part;
    std::string text = part;
    read_line(text);
    auto& name = text;
    name += "!";
    auto add = [&](char letter) { text += letter; };
    add('a');
    std::function<void()> later = [&text] { text += "b"; };
    later();
    std::for_each(part.begin(), part.end(), [&text](char letter) { text += letter; });
    const char* start = text.c_str();
    std::string_view view = text;
    target = text;
    static_cast<void>([&text] { return text.size(); }());
    print(start + target + std::string(view));
  }
}

// Only a switch with a block of its own around the loop has room for it.
void in_a_switch(int number, const texts& list) {
  switch (number) {
    case 1: {
      // inserts: std::string text;
      for (const std::string& part : list) {
        // proven: 'text' moves
        // becomes: text = part;
        std::string text = part;
        print(text);
      }
      break;
    }
    default: break;
  }
  // inserts: numbers values;
  if (number > 0)
    for (int i = 0; i < number; ++i) {
      // proven: 'values' moves
      // becomes: values.clear();
      // becomes: values.resize(4);
      numbers values(4);
      values.push_back(i);
      print(std::to_string(sum_of(values)));
    }
}

// The name has another meaning after the outer loop, and the type is not known before it.
void in_an_inner_loop(const std::vector<texts>& lists) {
  for (const texts& list : lists) {
    std::string text = list.empty() ? std::string("none") : list.back() + "x";
    print(text);
    // inserts: std::string inner;
    for (int round = 0; round < 2; ++round) {
      for (const std::string& part : list) {
        // proven: 'inner' moves
        // becomes: inner = part;
        std::string inner = part;
        print(inner);
      }
    }
    struct local {
      int value;
    };
    // inserts: std::vector<local> values;
    for (const std::string& part : list) {
      // proven: 'values' moves
      // becomes: values.clear();
      std::vector<local> values;
      values.push_back({static_cast<int>(part.size())});
      print(std::to_string(values.front().value));
    }
  }
  const std::string inner(2, 'i');
  print(inner);
}

int left_early(const texts& list) {
  // inserts: std::string text;
  for (const std::string& part : list) {
    try {
      // proven: 'text' moves
      // becomes: text = part;
      std::string text = part;
      if (text == "two") throw text;
      if (text.size() > 10) return 3;
      print(text);
    } catch (const std::string& problem) {
      print(problem + "?");
      continue;
    }
  }
  return 0;
}

std::string returned(const texts& list) {
  // inserts: std::string text;
  for (const std::string& part : list) {
    // proven: 'text' moves
    // becomes: text = part;
    std::string text = part;
    if (text.size() > 3) return text;
  }
  return "";
}

template <class Value>
Value template_sum(const std::vector<std::vector<Value>>& lists) {
  Value sum = 0;
  // inserts: std::vector<Value> doubled;
  for (const std::vector<Value>& list : lists) {
    // proven: 'doubled' moves
    // becomes: doubled.clear();
    std::vector<Value> doubled;
    for (Value value : list) doubled.push_back(2 * value);
    for (Value value : doubled) sum += value;
  }
  return sum;
}
template int template_sum(const std::vector<numbers>&);
template long template_sum(const std::vector<std::vector<long>>&);

auto in_a_lambda = [](const texts& list) {
  // inserts: std::string text;
  for (const std::string& part : list) {
    // proven: 'text' moves
    // becomes: text = part;
    std::string text = part;
    print(text);
  }
};

struct record {
  std::string name;
  numbers values;
  std::map<int, std::pair<std::string, int>> table;
};
void elements(int count) {
  // inserts: std::vector<record> records;
  for (int i = 0; i < count; ++i) {
    // proven: 'records' moves
    // becomes: records.clear();
    std::vector<record> records;
    records.push_back({"name", {i}, {}});
    print(records.back().name + std::to_string(records.back().values.back()));
  }
}

// The text of an earlier iteration is gone, and its members are new.
struct holder {
  std::string text = "member";
  void add(const texts& list) {
    print(text);
    // inserts: std::string copy;
    for (const std::string& part : list) {
      // proven: 'copy' moves
      // becomes: copy = text;
      // becomes: copy += part;
      std::string copy = text + part;
      this->text = copy;
    }
    print(text);
  }
};

// Each text takes its memory from the same place as the page, which the loop fills: it is there for as long as the
// page.
struct page {
  std::pmr::string body;
  std::pmr::vector<int> sizes;
};
void lenders(page& output, const texts& list) {
  const auto row = [&] {
    // inserts: std::pmr::string line(output.body.get_allocator());
    for (const std::string& part : list) {
      // proven: 'line' moves out of the loop and keeps its memory
      // becomes: line = "a line of a page: ";
      std::pmr::string line("a line of a page: ", output.body.get_allocator());
      line.append(part);
      output.body += line;
    }
  };
  row();
  // inserts: std::pmr::vector<int> numbers(output.body.get_allocator());
  for (const std::string& part : list) {
    // proven: 'numbers' moves out of the loop
    // becomes: numbers.clear();
    std::pmr::vector<int> numbers(output.body.get_allocator());
    numbers.assign(part.size(), 1);
    output.body.append(numbers.size(), 'x');
  }
  for (const std::string& part : list) {
    std::pmr::string inner(output.sizes.get_allocator());
    // inserts: std::pmr::string copy(inner.get_allocator());
    for (const char letter : part) {
      // proven: 'copy' moves out of the loop
      // becomes: copy.assign(3, letter);
      std::pmr::string copy(3, letter, inner.get_allocator());
      inner += copy;
    }
    print(std::string(inner));
  }
  print(std::string(output.body));
}

// Code outside of the block around the loop does not matter.
void elsewhere(const texts& list, int rounds) {
#ifdef NEVER
  print("never");
#endif
repeated : {
  // inserts: std::string text;
  for (const std::string& part : list) {
    // proven: 'text' moves out of the loop
    // becomes: text.clear();
    std::string text;
    text += part;
    if (text.empty()) goto finish;
    print(text);
  }
}
finish:
  if (--rounds > 0) goto repeated;
}

}  // namespace proven

int main() {
  const texts list = {"one", "two", "three and a long text that needs a buffer", ""};
  const texts long_enough(list.begin(), list.begin() + 3);
  proven::empty_ones(list);
  proven::elsewhere(list, 2);
  proven::nested({list, {}, list});
  proven::of_another_value(long_enough, "some letters", 4, "a view");
  proven::sums(list, "folder", 'x');
  proven::given_by_reference(list);
  proven::in_a_switch(1, list);
  proven::in_an_inner_loop({list, {}, list});
  print(std::to_string(proven::left_early(list)) + proven::returned(list));
  print(std::to_string(proven::template_sum(std::vector<numbers>{{1, 2}, {3}})));
  proven::in_a_lambda(list);
  proven::elements(3);
  proven::holder().add(list);
  std::pmr::monotonic_buffer_resource arena;
  proven::page output{std::pmr::string(&arena), std::pmr::vector<int>(&arena)};
  proven::lenders(output, list);
  std::puts(printed.c_str());
}
