// check: tarn-hoist -Wno-shadow
#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using texts = std::vector<std::string>;
using numbers = std::vector<int>;
void print(const std::string& text);
bool read_line(std::string& line);

namespace reviewed {

std::vector<const std::string*> addresses;
std::vector<std::function<void()>> tasks;
std::vector<std::reference_wrapper<std::string>> references;
std::string_view last_view;
struct noisy {
  ~noisy() { print("end"); }
};
struct named {
  std::string name() const { return "name"; }
};

void stored(const texts& list, const named& object) {
  const char* start = nullptr;
  // inserts: std::string first;
  for (const std::string& part : list) {
    // review: 'first' moves
    // becomes: first = part;
    std::string first = part;
    const std::string* address = &first;
    addresses.push_back(address);
  }
  // inserts: std::string second;
  for (const std::string& part : list) {
    // review: 'second' moves
    // becomes: second = part;
    std::string second = part;
    tasks.push_back([&second] { print(second); });
  }
  // inserts: std::string third;
  for (const std::string& part : list) {
    // review: 'third' moves
    // becomes: third = part;
    std::string third = part;
    start = third.c_str();
    print(start);
  }
  // inserts: std::string fourth;
  for (const std::string& part : list) {
    // review: 'fourth' moves
    // becomes: fourth = part;
    std::string fourth = part;
    last_view = fourth;
  }
  // inserts: std::string fifth;
  for (const std::string& part : list) {
    // review: 'fifth' moves
    // becomes: fifth = part;
    std::string fifth = part;
    references.push_back(std::ref(fifth));
  }
  // inserts: std::string sixth;
  for (const std::string& part : list) {
    // review: 'sixth' moves
    // becomes: sixth = part;
    std::string sixth = part;
    std::thread thread([&] { print(sixth); });
    thread.join();
  }
  // inserts: std::string seventh;
  for (const std::string& part : list) {
    // review: 'seventh' moves
    // becomes: seventh = part;
    std::string seventh = part;
    static std::string& name = seventh;
    print(name);
  }
  // inserts: std::string eighth;
  for (const std::string& part : list) {
    // review: 'eighth' moves
    // becomes: eighth = part;
    // becomes: eighth += object.name();
    std::string eighth = part + object.name();
    print(eighth);
  }
}

// Their destructors would run later than today.
void loud_elements(int count) {
  // inserts: std::vector<noisy> objects;
  for (int i = 0; i < count; ++i) {
    // review: 'objects' moves
    // becomes: objects.clear();
    std::vector<noisy> objects;
    objects.emplace_back();
  }
  // inserts: std::vector<std::shared_ptr<int>> pointers;
  for (int i = 0; i < count; ++i) {
    // review: 'pointers' moves
    // becomes: pointers.clear();
    std::vector<std::shared_ptr<int>> pointers;
    pointers.push_back(nullptr);
  }
}

}  // namespace reviewed

namespace silent {

std::string new_text();
std::string changes(std::string& text) {
  text += "changed";
  return "changes";
}
std::vector<texts> lists;
std::vector<std::string> list_of;

// They leave with their memory: nothing could be kept.
void given_away(const texts& list) {
  for (const std::string& part : list) {
    std::string moved = part;
    list_of.push_back(std::move(moved));
  }
  for (const std::string& part : list) {
    std::string swapped = part;
    list_of.back().swap(swapped);
    std::string second = part;
    std::swap(list_of.back(), second);
    std::string third = part;
    third.swap(list_of.back());
  }
  for (const std::string& part : list) {
    std::string captured = part;
    auto later = [text = std::move(captured)] { return text; };
    print(later());
  }
  for (const std::string& part : list) {
    std::string cast = part;
    list_of.push_back(static_cast<std::string&&>(cast));
  }
  for (const std::string& part : list) {
    texts of_a_call = {part};
    texts another(std::move(of_a_call));
    lists.push_back(another);
    std::string value = std::to_string(another.size());
    print(value);
  }
}

// They are no ordinary variables of an iteration.
void kinds(const texts& list) {
  std::string outside;
  outside += "x";
  for (const std::string& part : list) {
    static std::string kept_value;
    thread_local std::string kept_in_thread;
    const std::string constant = part;
    std::string first, second;
    auto deduced = part;
    std::string& reference = outside;
    std::string array[2];
    std::map<int, int> nodes;
    std::list<int> list_nodes;
    std::set<int> set_nodes;
    [[maybe_unused]] std::string attribute;
    std::unique_ptr<std::string> pointer;
    kept_value = kept_in_thread = constant + first + second + deduced + reference + array[0];
    nodes[1] = 2;
    list_nodes.push_back(1);
    set_nodes.insert(1);
  }
  for (std::string line; read_line(line);) print(line);
  for (std::string copy : list) print(copy);
  while (read_line(outside)) {
    if (std::string text = outside; !text.empty()) print(text);
  }
  auto later = [](const std::string& part) {
    std::string text = part;
    print(text);
  };
  for (const std::string& part : list) later(part);
}

// The memory of these may end with the iteration.
void allocators(const texts& list) {
  std::pmr::monotonic_buffer_resource arena;
  for (const std::string& part : list) {
    std::pmr::string text(part, &arena);
    text += "x";
    arena.release();
  }
  std::allocator<char> allocator;
  for (const std::string& part : list) {
    std::string text(part, allocator);
    print(text);
  }
}

void managed(const texts& list) {
  for (const std::string& part : list) {
    std::string text = part;
    if (text.capacity() > 20) print(text);
  }
  for (const std::string& part : list) {
    std::string text = part;
    text.shrink_to_fit();
    print(text);
  }
}

// `first` would be read before the function changes it.
void order(std::string first, int count) {
  for (int i = 0; i < count; ++i) {
    std::string text = first + changes(first);
    print(text);
  }
  for (int i = 0; i < count;) {
    std::string text = "i" + std::to_string(i++);
    print(text);
  }
  struct guard {
    ~guard() { print("end"); }
    const std::string& text() const { return value; }
    std::string value = "guard";
  };
  for (int i = 0; i < count; ++i) {
    std::string text = guard().text() + first;
    print(text + "?");
    std::string sum = std::to_string(count) + first;
    print(sum);
  }
  for (int i = 0; i < count; ++i) {
    std::string text = "guard: " + guard().text() + first;
    print(text);
  }
}

// The name means something else outside of the loop.
std::string name = "global";
void names(const texts& list, const std::string& parameter) {
  for (const std::string& part : list) {
    std::string name = part;
    print(name);
  }
  print(name);
  for (const std::string& part : list) {
    std::string twice = part;
    print(twice);
  }
  for (const std::string& part : list) {
    std::string twice = part;
    print(twice);
  }
  for (const std::string& part : list) {
    print(part + name);
    std::string name = part;
    print(name);
  }
  {
    for (const std::string& part : list) {
      std::string parameter = part;
      print(parameter);
    }
  }
  print(parameter);
}
void headers(const std::vector<texts>& lists) {
  for (std::size_t text = 0; text < lists.size(); ++text) {
    for (const std::string& part : lists[0]) {
      std::string text = part;
      print(text);
    }
  }
  for ([[maybe_unused]] const texts& text : lists) {
    for (const std::string& part : lists[0]) {
      std::string text = part;
      print(text);
    }
  }
  if (std::size_t text = lists.size(); text > 1) {
    for (const std::string& part : lists[0]) {
      std::string text = part;
      print(text);
    }
  }
  try {
    print("");
  } catch (const std::string& text) {
    for (const std::string& part : lists[0]) {
      std::string text = part;
      print(text);
    }
  }
}
struct member {
  std::string text;
#define TEXT text
  void use(const texts& list) {
    for (const std::string& part : list) {
      std::string text = part;
      print(text);
    }
    print(TEXT);
  }
};

// A macro writes the name of a type.
struct text_type {
  int values[3];
};
using text_of_macro = text_type;
#define COUNT sizeof(text_of_macro)
void type_in_macro(const texts& list) {
  for (std::size_t i = 0; i < COUNT; ++i) {
    std::string text_of_macro = list[i];
    print(text_of_macro);
  }
}

void local_type(int count) {
  for (int i = 0; i < count; ++i) {
    struct local {
      int value;
    };
    using values_of_loop = std::vector<local>;
    std::vector<local> values;
    values_of_loop others;
    values.push_back({1});
    others.push_back({2});
    constexpr std::size_t size = 3;
    std::vector<std::array<int, size>> arrays;
    arrays.push_back({});
  }
}

#define LOOP(list) for (const std::string& part : list)
#define DECLARED(name) std::string name
void macros(const texts& list) {
  LOOP(list) {
    std::string text = part;
    print(text);
  }
  for (const std::string& part : list) {
    DECLARED(text) = part;
    print(text);
  }
}

void without_a_block(int number, const texts& list) {
  switch (number) {
    case 0:
      print("0");
      for (const std::string& part : list) {
        std::string text = part;
        print(text);
      }
      break;
    case 1: print("1");
  }
  switch (number) {
    case 0:
      for (const std::string& part : list) {
        std::string text = part;
        print(text);
      }
  }
}

void jumps(const texts& list) {
repeated:
  for (const std::string& part : list) {
    std::string text = part;
    if (text.empty()) goto repeated;
    print(text);
  }
}

void configured(const texts& list) {
  for (const std::string& part : list) {
    std::string text = part;
#ifdef NEVER
    lists.push_back({std::move(text)});
#endif
    print(text);
  }
}

// Each thread has a variable of its own.
void parallel(const texts& list) {
#pragma omp parallel for
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string text = list[i];
    print(text);
  }
}
void parallel_by_operator(const texts& list) {
  _Pragma("omp parallel for") for (std::size_t i = 0; i < list.size(); ++i) {
    std::string text = list[i];
    print(text);
  }
}
#define PARALLEL _Pragma("omp parallel for")
void parallel_by_macro(const texts& list) {
  PARALLEL
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string text = list[i];
    print(text);
  }
}

struct fixed {
  const int value;
};
void not_assignable(const std::vector<fixed>& list) {
  for (const fixed& next : list) {
    std::vector<fixed> copy = list;
    std::vector<fixed> several(3, next);
    print(std::to_string(copy.size() + several.size()));
  }
}

struct convertible {
  operator const char*() const;
  operator int() const;
};
void converted_otherwise(int count, const convertible& value) {
  for (int i = 0; i < count; ++i) {
    std::string text(value);
    print(text);
  }
}
void changed_by_a_callable(int count, std::string& first, const std::function<std::string()>& next) {
  for (int i = 0; i < count; ++i) {
    std::string text = first + next();
    print(text);
  }
}

template <class List>
void any_list(const std::vector<List>& lists) {
  for (const List& list : lists) {
    List copy = list;
    copy.clear();
  }
}
template void any_list(const std::vector<numbers>&);
template void any_list(const std::vector<std::set<int>>&);

}  // namespace silent

// The capacity may be that of a container whose edit would change it.
namespace capacity {

void fill(std::vector<char>& buffer) {
  if (buffer.capacity() == 0) buffer.reserve(8);
  while (buffer.size() < buffer.capacity()) buffer.push_back('x');
}
void filled(const numbers& sizes) {
  // inserts: std::vector<char> buffer;
  for (const int size : sizes) {
    // review: 'buffer' moves out of the loop
    // becomes: buffer.clear();
    std::vector<char> buffer;
    if (size == 100) buffer.resize(100);
    fill(buffer);
  }
}

}  // namespace capacity
