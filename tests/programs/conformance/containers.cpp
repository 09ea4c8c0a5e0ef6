// The standard library at work: containers, shared pointers, threads, futures, pmr resources.
//@ broken-by malloc_overlap malloc_short
#include <deque>
#include <future>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <vector>

#include "../check.h"

static std::size_t work(int seed) {
  std::map<int, std::string> tree;
  std::unordered_map<std::string, std::vector<int>> table;
  std::list<std::shared_ptr<std::string>> list;
  std::deque<std::string> queue;
  std::pmr::unsynchronized_pool_resource pool(std::pmr::new_delete_resource());
  std::pmr::map<int, std::pmr::string> pooled(&pool);
  std::size_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text(static_cast<std::size_t>((i * seed) % 300), 'a');
    tree[i * seed % 1009] = text;
    table[text].push_back(i);
    list.push_back(std::make_shared<std::string>(text));
    queue.push_front(text);
    pooled[i % 700] = text.c_str();
    if (i % 3 == 0) {
      sum += list.front()->size() + queue.back().size();
      list.pop_front();
      queue.pop_back();
    }
  }
  for (auto& [key, text] : tree) sum += text.size();
  for (auto& [key, text] : pooled) sum += text.size();
  for (auto& [text, numbers] : table) sum += numbers.size() * text.size();
  return sum;
}

int main() {
  const std::size_t expected = work(7) + work(11);
  auto a = std::async(std::launch::async, work, 7), b = std::async(std::launch::async, work, 11);
  CHECK(a.get() + b.get() == expected && expected > 100000);
}
