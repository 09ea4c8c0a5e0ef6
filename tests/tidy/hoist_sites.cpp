// check: tarn-hoist -Wno-shadow
#include <algorithm>
#include <functional>
#include <map>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include <tarn/heap.hpp>

using texts = std::vector<std::string>;
void print(const std::string& text);
void fill(std::vector<int>& values);
bool read_line(std::string& line);
std::string new_text();
std::string changes(std::string& text);

// A recording names the line that allocates: the declaration, or a use that gives it elements.
void named(const texts& list) {
  // inserts: std::string declared;
  for (const std::string& part : list) {
    // site: 0
    // proven: 'declared' moves
    // becomes: declared = part;
    std::string declared = part;
    print(declared);
  }
  // inserts: std::string grown;
  for (const std::string& part : list) {
    // proven: 'grown' moves
    // becomes: grown.clear();
    std::string grown;
    // site: 0
    grown += part;
    print(grown);
  }
  // inserts: std::vector<int> filled;
  for (const std::string& part : list) {
    // proven: 'filled' moves
    // becomes: filled.clear();
    std::vector<int> filled;
    if (!part.empty()) {
      // site: 0
      fill(filled);
    }
  }
  for (const std::string& part : list) {
    std::string not_recorded = part;
    // site: 0
    print(not_recorded + part);
  }
}

void refused(const texts& list, std::string& source) {
  // site: 0
  // no edit: 'outside' is not declared in a loop of this function
  std::string outside = source;
  for (const std::string& part : list) {
    // no edit: 'first' takes over the memory of this value
    // site: 0
    std::string first = new_text() + part;
    // no edit: 'second' takes over the memory of this value
    // site: 0
    std::string second = new_text();
    // no edit: this may change what stands before it in the text
    // site: 0
    std::string third = source + changes(source);
    // no edit: 'fourth' gives its memory away here
    // site: 0
    std::string fourth = part;
    outside = std::move(fourth);
    // no edit: 'swapped' gives its memory away here
    // site: 0
    std::string swapped = part;
    std::ranges::swap(swapped, outside);
    // no edit: 'pointed' gives its memory away here
    // site: 0
    std::string pointed = part;
    std::iter_swap(&pointed, &outside);
    // no edit: 'forwarded' gives its memory away here
    // site: 0
    std::string forwarded = part;
    outside = std::forward<std::string>(forwarded);
    // no edit: the code manages the room of 'fifth' itself
    // site: 0
    std::string fifth = part;
    if (fifth.capacity() > 100) print(fifth + first + second + third);
    // no edit: 'sixth' is constant
    // site: 0
    const std::string sixth = part;
    // no edit: the type of 'seventh' is not written out alone
    // site: 0
    auto seventh = part;
    // no edit: the statement declares several variables
    // site: 0
    // no edit: the statement declares several variables
    std::string eighth = part, ninth;
    // no edit: 'tenth' takes its memory from an allocator of its own
    // site: 0
    std::pmr::string tenth(part);
    print(sixth + seventh + eighth + ninth);
  }
  std::pmr::monotonic_buffer_resource arena;
  std::pmr::string outer(&arena), empty(&arena);
  {
    for (const std::string& part : list) {
      // no edit: the loop does not fill the container that lends its allocator
      // site: 0
      std::pmr::string eleventh(part.c_str(), empty.get_allocator());
      outer += eleventh;
    }
  }
  for (const std::string& part : list) {
    // no edit: this may release the memory of the loop
    // site: 0
    std::pmr::string twelfth(part.c_str(), outer.get_allocator());
    outer += twelfth;
    if (outer.size() > 1000) {
      outer = std::pmr::string();
      arena.release();
    }
  }
  std::pmr::string* const pages[] = {&outer, &empty};
  for (std::size_t i = 0; i < list.size(); ++i) {
    // no edit: the container that lends its allocator may be another one in each iteration
    // site: 0
    std::pmr::string thirteenth(list[i].c_str(), pages[i % 2]->get_allocator());
    *pages[i % 2] += thirteenth;
  }
  for (const std::string& part : list) {
    std::pmr::string page(empty.get_allocator());
    // no edit: the container that lends its allocator is declared in the loop
    // site: 0
    std::pmr::string fourteenth(part.c_str(), page.get_allocator());
    page += fourteenth;
  }
  for (const std::string& part : list) {
    // no edit: the name 'outside' has another meaning outside of the loop
    // site: 0
    std::string outside = part;
    print(outside);
  }
  print(outside);
  for (const std::string& part : list) {
    struct local {
      int value;
    };
    // no edit: the type of 'values' is not known outside of the loop
    // site: 0
    std::vector<local> values(part.size());
  }
  switch (list.size()) {
    case 1:
      print("one");
      for (const std::string& part : list) {
        // no edit: a label of the switch would jump past the declaration
        // site: 0
        std::string text = part;
        print(text);
      }
      break;
    default: break;
  }
}

#define LOOP for (const std::string& part : list)
void macros(const texts& list) {
  LOOP {
    // no edit: a macro writes the loop
    // site: 0
    std::string text = part;
    print(text);
  }
}

void jumps(const texts& list) {
repeated:
  print("again");
  for (const std::string& part : list) {
    // no edit: the block around the loop has labels or can be suspended
    // site: 0
    std::string text = part;
    if (text.empty()) goto repeated;
  }
}

void configured(const texts& list) {
#pragma omp parallel for
  for (std::size_t i = 0; i < list.size(); ++i) {
    // no edit: the block around the loop differs from configuration to configuration
    // site: 0
    std::string text = list[i];
    print(text);
  }
}

// The memory of its iteration ends with it.
void of_a_heap(const texts& list, tarn::heap& heap) {
  for (const std::string& part : list) {
    const tarn::scoped_current_heap use(heap);
    // no edit: a heap of Tarn may end before 'text'
    // site: 0
    std::string text = part;
    print(text);
  }
}

template <class List>
void any_list(const std::vector<List>& lists) {
  for (const List& list : lists) {
    // no edit: 'copy' may be another class in another instantiation
    // site: 0
    List copy = list;
    copy.clear();
  }
}
template void any_list(const std::vector<std::vector<int>>&);

// The deduced arguments of a template are not in the text.
void deduced(const texts& list) {
  for (const std::string& part : list) {
    // site: 0
    // no edit: the type of 'pair' is not written out alone
    std::vector pair{part, part};
    print(pair[0]);
  }
  // inserts: std::vector<std::string> pair_of_texts;
  for (const std::string& part : list) {
    // site: 0
    // proven: 'pair_of_texts' moves
    // becomes: pair_of_texts = {part, part};
    std::vector<std::string> pair_of_texts{part, part};
    print(pair_of_texts[0]);
  }
}

// Code that the language adds changes what another operand reads.
std::string prefix;
struct tag {
  int number = 0;
  const char* text = (prefix = "changed", "text");
};
struct compared {
  int number;
  bool operator==(const compared& second) const {
    prefix = "changed";
    return number == second.number;
  }
};
void added_code(const compared& first, const compared& second, int count) {
  for (int i = 0; i < count; ++i) {
    // site: 0
    // no edit: this may change what stands before it in the text
    std::string text = prefix + tag{1}.text;
    print(text);
  }
  for (int i = 0; i < count; ++i) {
    // site: 0
    // no edit: this may change what stands before it in the text
    std::string text = prefix + tag(1).text;
    print(text);
  }
  // inserts: std::string line;
  for (int i = 0; i < count; ++i) {
    // site: 0
    // review: 'line' moves
    // becomes: line = prefix;
    // becomes: line += (first != second ? "differ" : "same");
    std::string line = prefix + (first != second ? "differ" : "same");
    print(line);
  }
}
