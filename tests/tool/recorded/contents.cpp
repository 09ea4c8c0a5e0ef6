// Programs whose memory holds what they could do without, each as it is and with the remedy: contents CASE [remedy].
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::mt19937_64 random_numbers(7);  // NOLINT: the same in each run
std::size_t number_up_to(std::size_t limit) { return random_numbers() % limit + 1; }

// Vectors that grow by doubling, and end at any length.
std::size_t grow_vectors(bool is_improved) {
  std::vector<std::vector<long>> rows(2000);
  for (std::vector<long>& row : rows) {
    const std::size_t length = number_up_to(300);
    if (is_improved) row.reserve(length);
    for (std::size_t index = 0; index < length; ++index) row.push_back(static_cast<long>(random_numbers()));
  }
  return rows.size();
}

// Buffers of one size for lines of different lengths.
std::size_t read_lines(bool is_improved) {
  std::vector<std::unique_ptr<char[]>> lines;
  for (int count = 0; count < 1000; ++count) {
    const std::size_t length = number_up_to(200);
    lines.emplace_back(new char[is_improved ? length : 1024]);
    for (std::size_t index = 0; index < length; ++index) lines.back()[index] = static_cast<char>(random_numbers());
  }
  return lines.size();
}

// An array of C that doubles, for one half and a little more.
std::size_t grow_arrays(bool is_improved) {
  std::vector<long*> arrays;
  for (int count = 0; count < 300; ++count) {
    std::size_t capacity = 16;
    auto* array = static_cast<long*>(std::malloc(capacity * sizeof(long)));
    const std::size_t length = 260 + number_up_to(60);
    for (std::size_t index = 0; index < length; ++index) {
      if (index == capacity) array = static_cast<long*>(std::realloc(array, (capacity *= 2) * sizeof(long)));
      array[index] = static_cast<long>(random_numbers());
    }
    arrays.push_back(is_improved ? static_cast<long*>(std::realloc(array, length * sizeof(long))) : array);
  }
  for (long* const array : arrays) std::free(array);
  return arrays.size();
}

// Names of few kinds, each in a string of its own.
std::size_t keep_names(bool is_improved) {
  std::set<std::string> different_names;
  std::vector<std::string> names;
  std::vector<std::string_view> views;
  names.reserve(10000), views.reserve(10000);
  for (int count = 0; count < 10000; ++count) {
    std::string name = "a name that is longer than the buffer in a string, number " + std::to_string(number_up_to(40));
    if (is_improved) {
      views.push_back(*different_names.insert(std::move(name)).first);
    } else {
      names.push_back(std::move(name));
    }
  }
  return names.size() + views.size();
}

// Tables of 5 kinds, one for each session.
std::size_t keep_tables(bool is_improved) {
  using table = std::vector<double>;
  std::vector<std::shared_ptr<const table>> kinds(5), sessions;
  for (int count = 0; count < 400; ++count) {
    const std::size_t kind = number_up_to(5) - 1;
    const auto make = [&] { return std::make_shared<const table>(200, static_cast<double>(kind) + 0.5); };
    if (is_improved && kinds[kind] == nullptr) kinds[kind] = make();
    sessions.push_back(is_improved ? kinds[kind] : make());
  }
  return sessions.size();
}

// Full blocks of different contents.
std::size_t keep_all(bool) {
  std::vector<std::vector<long>> rows(500);
  for (std::vector<long>& row : rows) {
    row.resize(100);
    for (long& element : row) element = static_cast<long>(random_numbers());
  }
  return rows.size();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view name = count > 1 ? arguments[1] : "";
  const bool is_improved = count > 2;
  if (name == "vectors") return grow_vectors(is_improved) != 2000;
  if (name == "lines") return read_lines(is_improved) != 1000;
  if (name == "arrays") return grow_arrays(is_improved) != 300;
  if (name == "names") return keep_names(is_improved) != 10000;
  if (name == "tables") return keep_tables(is_improved) != 400;
  if (name == "full") return keep_all(is_improved) != 500;
  std::fputs("contents vectors|lines|arrays|names|tables|full [remedy]\n", stderr);
  return 2;
}
