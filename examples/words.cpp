// Searches the lines of a text, in the plain way that `tarn fix` improves: docs/guide/fix.md walks through it. `words
// PAGES` repeats the search.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

struct query {
  explicit query(std::size_t number) : page(number) {}
  std::size_t page;
};

// Returns the numbers of the lines that contain a word.
std::vector<std::size_t> lines_with(const std::vector<std::string>& lines, const std::string& word) {
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < lines.size(); ++number) {
    if (lines[number].find(word) != std::string::npos) numbers.push_back(number);
  }
  return numbers;
}

// Returns the length of each line.
std::vector<std::size_t> lengths_of(const std::vector<std::string>& lines) {
  std::vector<std::size_t> lengths;
  for (const std::string& line : lines) {
    lengths.push_back(line.size());
  }
  return lengths;
}

// Adds the first letter of each line to a text.
void add_initials(const std::vector<std::string>& lines, std::string& initials) {
  for (const std::string& line : lines) {
    initials += line.front();
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t pages = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1000;
  std::vector<std::string> lines;
  for (int number = 0; number < 500; ++number) lines.push_back("line " + std::to_string(number) + " of a small text");
  std::size_t sum = 0;
  for (std::size_t page = 0; page < pages; ++page) {
    std::shared_ptr<query> next(new query(page));
    sum += lengths_of(lines).back() + next->page;
    if (page % 10 != 0) continue;
    sum += lines_with(lines, "of").size();
    std::string initials;
    add_initials(lines, initials);
    sum += initials.size();
  }
  std::printf("%zu\n", sum);
}
