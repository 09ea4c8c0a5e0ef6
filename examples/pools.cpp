// Shows the pools, arenas and caches of docs/guide/pools.md, each in its typical use.
#include <cstdio>
#include <memory_resource>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tarn/tarn.hpp>

namespace {

struct node {
  explicit node(int value_ = 0, node* next_ = nullptr) : value(value_), next(next_) {}
  int value;
  node* next;
};

int with_a_pool() {
  tarn::pool<node> nodes;  // for one thread at a time
  node* list = nullptr;
  for (int value = 0; value < 1000; ++value) {
    list = nodes.create(value, list);
  }
  int sum = 0;
  for (; list != nullptr; sum += list->value, list = list->next) {
  }
  return sum;  // all nodes are gone with the pool
}

int with_a_pool_that_knows_its_size() {
  tarn::pool<node> nodes({.name = "nodes", .first_chunk_blocks = 4096, .limit_blocks = 4096});
  nodes.reserve(4096);                  // nothing is asked of the system from here on
  auto handled = nodes.make_unique(7);  // returns to the pool at the end of the scope
  return handled->value + static_cast<int>(nodes.statistics().in_use);
}

int with_a_pool_that_is_watched() {
  tarn::pool<node> nodes({.name = "nodes", .is_guarded = true});
  const auto handled = nodes.make_unique(9);
  return handled->value;
}

std::size_t with_a_report() {
  tarn::pool<node> nodes;
  tarn::pool<long> totals;
  static_cast<void>(nodes.create(1));
  return tarn::format_statistics({{"nodes", nodes.statistics()}, {"totals", totals.statistics()}},
                                 tarn::statistics_form::json)
      .size();
}

int with_a_heap_that_is_watched() {
  tarn::heap watched({.name = "watched", .records_sites = true});
  const std::pmr::string text("what is long enough to need memory of its own", &watched);
  return static_cast<int>(text.size());
}

int with_a_shared_pool() {
  tarn::shared_pool<node> nodes;  // for any number of threads
  node* handed_over = nullptr;
  std::thread([&] { handed_over = nodes.create(35); }).join();
  const int value = handed_over->value;
  nodes.destroy(handed_over);  // in another thread than the one that created it
  return value;
}

int with_a_lock_free_pool() {
  tarn::lock_free_pool<node> nodes;
  const auto handled = nodes.make_unique(5);
  return handled->value;
}

int with_a_lock() {
  tarn::pool<node, std::mutex> nodes;
  tarn::pool<node, tarn::spin_mutex> others;
  return nodes.make_unique(2)->value + others.make_unique(3)->value;
}

std::size_t with_an_arena(const std::vector<std::string>& names) {
  tarn::stack_arena<4096> request;  // the first 4 KiB are on the stack
  std::pmr::vector<std::string_view> copies(&request);
  tarn::arena_string reply(request);
  for (const std::string& name : names) {
    copies.push_back(request.copy(name));
    reply.append(copies.back());
    const tarn::arena_scope scratch(request);  // what comes now is gone at the next name
    static_cast<void>(request.create<node>(1));
  }
  return reply.size() + copies.size();
}

std::size_t with_recycled_objects(std::string_view text) {
  std::size_t word_count = 0;
  for (std::string_view line : tarn::split(text, '\n')) {
    auto copy = tarn::recycle<std::string>();  // empty, with the capacity of an earlier string
    copy->append(line);
    word_count += tarn::split_words(*copy).size();
  }
  return word_count;
}

struct session {
  tarn::owned_string name;  // stays in the heap where the session was made
};

std::size_t with_an_owner() {
  tarn::heap sessions({.name = "sessions"});
  tarn::heap request({.name = "request"});
  const tarn::scoped_current_heap outer(sessions);
  session saved;
  {
    const tarn::scoped_current_heap inner(request);
    saved.name = "made while another heap is current, and long enough to need memory";
  }
  return tarn::owner_of(saved.name.data()) == &sessions ? saved.name.size() : 0;
}

}  // namespace

int main() {
  std::printf("%d %d %d %d %d %d %zu %zu %zu %d\n", with_a_pool(), with_a_pool_that_knows_its_size(),
              with_a_pool_that_is_watched() + with_a_heap_that_is_watched(), with_a_shared_pool(),
              with_a_lock_free_pool(), with_a_lock(), with_an_arena({"one", "two", "three"}),
              with_recycled_objects("to be\nor not to be"), with_an_owner(), with_a_report() > 100);
}
