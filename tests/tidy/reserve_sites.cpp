// check: tarn-reserve
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using numbers = std::vector<int>;
int parse(const std::string& text);
bool read_line(std::string& line);
void take(numbers& values);

// The recording tells how many elements there are, where the code does not. It does not tell how often there are none.
numbers of_a_recording(const numbers& values) {
  numbers result;
  // review: reserve(1000), from the recording; but a call that adds nothing leaves no trace in it
  // inserts: result.reserve(1000);
  for (int value : values) {
    if (value < 0) continue;
    if (value == 100) break;
    // site: 4000
    result.push_back(value);
  }
  return result;
}

std::string lines() {
  std::string result;
  std::string line;
  // review: reserve(4095), from the recording; but a call that adds nothing leaves no trace in it
  // inserts: result.reserve(4095);
  while (read_line(line)) {
    // site: 4096
    result += line;
    result.append("\n");
  }
  return result;
}

// The whole nest of loops fills it.
numbers nested(const std::vector<numbers>& lists) {
  numbers result;
  // review: reserve(250), from the recording; but a call that adds nothing leaves no trace in it
  // inserts: result.reserve(250);
  for (const numbers& list : lists) {
    for (int value : list) {
      // site: 1000
      result.push_back(value);
    }
  }
  return result;
}

numbers in_a_lambda(const numbers& values) {
  auto positive = [&] {
    numbers result;
    // review: reserve(25), from the recording; but a call that adds nothing leaves no trace in it
    // inserts: result.reserve(25);
    for (int value : values)
      // site: 100
      if (value > 0) result.push_back(value);
    return result;
  };
  return positive();
}

// The code knows it better.
numbers of_the_code(const numbers& values) {
  numbers result;
  // proven: reserve(values.size())
  // inserts: result.reserve(values.size());
  // site: 4000
  for (int value : values) result.push_back(value);
  return result;
}

// A count of an input may be wrong; what was recorded is not. Without an input there is no buffer, as before.
numbers of_an_input(const std::vector<std::string>& texts, unsigned count) {
  numbers result;
  // proven: reserve(1000), from the recording
  // inserts: if (count > 0) result.reserve(1000);
  // site: 4000
  for (unsigned i = 0; i < count; ++i) result.push_back(parse(texts[i]));
  return result;
}

// These loops add an element in any case.
numbers at_least_one() {
  numbers result;
  std::string line;
  // proven: reserve(1000), from the recording
  // inserts: result.reserve(1000);
  do {
    // site: 4000
    result.push_back(parse(line));
  } while (read_line(line));
  return result;
}
numbers so_many(const std::vector<std::string>& texts) {
  numbers result;
  // proven: reserve(1000), from the recording
  // inserts: result.reserve(1000);
  // site: 4000
  for (int i = 0; i < 100; ++i) result.push_back(parse(texts[0])), result.push_back(i);
  return result;
}
numbers perhaps_one(bool is_first) {
  numbers result;
  std::string line;
  // review: a call that adds nothing
  // inserts: result.reserve(1000);
  do {
    // site: 4000
    if (is_first) result.push_back(parse(line));
  } while (read_line(line));
  return result;
}

// No site names this loop.
numbers not_recorded(const numbers& values) {
  numbers result;
  for (int value : values) result.push_back(value);
  return result;
}

class list {
 public:
  void add(int value) {
    // no edit: 'values_' does not grow in a loop here
    // site: 4000
    values_.push_back(value);
  }
  void add_all(const numbers& values) {
    // no edit: 'values_' may have elements before the loop
    // site: 4000
    for (int value : values) values_.push_back(value);
  }

 private:
  numbers values_;
};

void refused(numbers& result, const numbers& values) {
  // no edit: 'result' may have elements before the loop
  // site: 4000
  for (int value : values) result.push_back(value);
  numbers unknown;
  for (int value : values) {
    // no edit: how many elements there will be is not known before the loop
    // site: 0
    if (value > 0) unknown.push_back(value);
  }
  numbers cleared;
  for (int value : values) {
    // no edit: 'cleared' is cleared in the loop
    // site: 4000
    cleared.push_back(value);
    if (cleared.size() == 10) cleared.clear();
  }
  numbers moved;
  for (int value : values) {
    // no edit: 'moved' may lose its elements in the loop
    // site: 4000
    moved.push_back(value);
    if (value == 7) result = std::move(moved);
  }
  numbers managed;
  managed.reserve(10);
  for (int value : values) {
    // no edit: 'managed' may have elements before the loop
    // site: 4000
    managed.push_back(value);
  }
  numbers shrunk;
  for (int value : values) {
    // no edit: the code manages the room of 'shrunk' itself
    // site: 4000
    shrunk.push_back(value);
  }
  shrunk.shrink_to_fit();
  numbers constructed(3);
  for (int value : values) {
    // no edit: 'constructed' is not empty at first
    // site: 4000
    constructed.push_back(value);
  }
  auto pointer = std::make_unique<numbers>();
  for (int value : values) {
    // no edit: the container is no variable and no member of this object
    // site: 4000
    pointer->push_back(value);
  }
  numbers later;
  std::function<void(int)> add = [&](int value) {
    // no edit: 'later' does not grow in a loop here
    // site: 4000
    later.push_back(value);
  };
  for (int value : values) add(value);
  numbers bare;
  if (!values.empty())
    for (int value : values) {
      // no edit: the loop is no statement of a block
      // site: 4000
      bare.push_back(value);
    }
}

#define ADD(list, value) list.push_back(value)
numbers macro(const numbers& values) {
  numbers result;
  for (int value : values) {
    // no edit: a macro writes this code
    // site: 4000
    ADD(result, value);
  }
  return result;
}

numbers configured(const numbers& values) {
  numbers result;
#ifdef SORTED
  result.reserve(10);
#endif
  for (int value : values) {
    // no edit: the block differs from configuration to configuration
    // site: 4000
    result.push_back(value);
  }
  return result;
}

numbers with_a_label(const numbers& values) {
  numbers result;
  int rounds = 0;
repeated:
  ++rounds;
  for (int value : values) {
    // no edit: the block has labels or can be suspended
    // site: 4000
    result.push_back(value);
  }
  if (rounds < 10) goto repeated;
  return result;
}

// A thousand elements of one type are another number of bytes than of the other.
template <class Value>
std::vector<Value> instantiated(const std::vector<Value>& values) {
  std::vector<Value> result;
  for (const Value& value : values) {
    // no edit: instantiations of the template need different edits
    // site: 4000
    if (value > 0) result.push_back(value);
  }
  return result;
}
template std::vector<int> instantiated(const std::vector<int>&);
template std::vector<long> instantiated(const std::vector<long>&);
